"""Requests to an OpenAI-compatible endpoint: HTTP, retries, time limits, tokens and cost; independent of tasks.

========  ============================================================================
client    one request to an endpoint until it is completed or has failed
wire      the connection: request bodies with media, replies of bounded size and time without the key
replies   the answer of an endpoint: whole, as events, or an error
spending  tokens and cost, and a budget that no request may exceed
========  ============================================================================

The package ``openai`` (extra `chat`) and its HTTP client are imported when the first client is made, and nowhere else.
"""

from auscult.work.chat.client import ChatCall, ChatClient, Endpoint, EndpointError, Secret
from auscult.work.chat.replies import ChatReply
from auscult.work.chat.spending import BudgetSpent, Price, Spending, Tokens
from auscult.work.chat.wire import Base64

__all__ = [
    "Base64",
    "BudgetSpent",
    "ChatCall",
    "ChatClient",
    "ChatReply",
    "Endpoint",
    "EndpointError",
    "Price",
    "Secret",
    "Spending",
    "Tokens",
]
