"""Training of MQ-Auditor, the auditor that answers in words (MQA-RefAVS, Sec. 4, 5.2, App. D and G.3)."""
