"""Makes commands from dataclasses of options."""

from __future__ import annotations

import inspect
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from auscult.cli import show
from auscult.errors import UsageError
from auscult.jobs.options import Flag, OptionSpec, specs_of, word_of

F = TypeVar("F", bound=Callable[..., Any])
O = TypeVar("O")  # noqa: E741 - the options of a verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a result is shown.

    Attributes:
        max_failed: Exit 1 when more cases failed than this.
        json: Print the summary as JSON instead of tables.
        quiet: No progress on stderr.
    """

    max_failed: Annotated[int, Flag(least=0)] = 0
    json: bool = False
    quiet: bool = False


class Command(TyperCommand):
    """A command that refuses an option given twice, of which the last value alone would count."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the arguments."""
        given = Counter(self.make_parser(ctx).parse_args(args=[*args])[2])
        for option, times in given.items():
            if times > 1 and isinstance(option, TyperOption) and not (option.multiple or option.is_flag):
                listed = "omma-separated" in (option.help or "")
                hint = f"several values in one: {option.opts[0]} A,B" if listed else "leave one of them out"
                raise UsageError(f"{option.opts[0]} is given {times} times", expected="once", hint=hint)
        return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """A group with whole sentences for its commands in the help."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """The help's list of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (entry.help or "").partition("\n")[0]) for name, entry in commands if entry is not None]
            )


class App(typer.Typer):
    """What holds commands, each a ``Command``."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        """A decorator that makes a command of a function."""
        return super().command(name, **{"cls": Command, **settings})


def group(does: str) -> App:
    """A group of commands; ``does`` is its help."""
    app = App(help=does, no_args_is_help=True, cls=Commands)
    app.callback()(lambda: None)  # with a single command typer would leave the group out
    return app


def command(
    options: type[O],
    *,
    shown: Collection[str] = ("max_failed", "json", "quiet"),
    without: Collection[str] = (),
    fixed: Mapping[str, Any] | None = None,
    prefix: Mapping[str, str] | None = None,
) -> Callable[[Callable[[O, Shown], None]], Callable[..., None]]:
    """Make a command from a function that gets options, and how to show its result.

    ``shown`` are the fields of ``Shown`` that it has too, ``fixed`` are fields with a fixed value, and ``prefix`` is
    put before the help of an option.
    """
    specs = [_prefixed(spec, prefix or {}) for spec in specs_of(options) if spec.name not in without]
    general = [spec for spec in specs_of(Shown) if spec.name in shown]

    def decorate(run: Callable[[O, Shown], None]) -> Callable[..., None]:
        def call(ctx: typer.Context, **given: Any) -> None:
            values = {
                spec.path: _value(spec, given[spec.name])
                for spec in specs
                if given[spec.name] is not None or not _is_repeated(spec)  # else the field keeps its default
            }
            display = {spec.name: given[spec.name] for spec in general}
            constant = {"given": _spelled(ctx), **(fixed or {})}
            run(_built(options, values, constant=constant), Shown(**display))

        parameters = [inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        parameters += [_parameter(spec) for spec in sorted(specs, key=_rank)]
        parameters += [_parameter(spec) for spec in general]
        call.__doc__ = run.__doc__
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate


def verb_command(
    options: type,
    verb: str,
    *,
    help: str,  # noqa: A002
    next_step: str = "",
    notes: bool = False,
) -> Callable[..., None]:
    """Make a command of a verb of ``jobs``, ``module:Class``, which is imported when the command runs.

    ``next_step``, with ``{out}`` for the output folder as a shell takes it, and the manifest's ``notes`` are shown with
    the result.
    """

    def run(given: Any, shown: Shown) -> None:
        from auscult.record.folder import read_manifest
        from auscult.record.manifest import notes_of

        module, _, name = verb.partition(":")
        job = getattr(import_module(f"auscult.jobs.{module}"), name)(given)
        with show.progress_bar(quiet=shown.quiet) as progress:
            summary, tables = job.run(progress)
        out = job.options.out
        lines = show.warnings_of(out)
        lines += [f"note: {note}" for note in notes_of(read_manifest(out))] if notes else []
        lines += [next_step.format(out=shlex.quote(str(out)))] if next_step else []
        show.result(summary, tables, shown, record=out, notes=lines)

    run.__doc__ = help
    return command(options)(run)


def _spelled(ctx: typer.Context) -> frozenset[str]:
    """Names of the options given on the command line, as opposed to defaults."""
    return frozenset(
        name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"
    )


def _prefixed(spec: OptionSpec, prefix: Mapping[str, str]) -> OptionSpec:
    """The option with a prefix to its help, whose first word becomes lower case."""
    if spec.name not in prefix:
        return spec
    text = spec.help[0].lower() + spec.help[1:] if spec.help[1:2].islower() else spec.help
    return replace(spec, help=prefix[spec.name] + text)


def _value(spec: OptionSpec, given: Any) -> Any:
    if spec.flag.read is not None and isinstance(given, str) and (given or spec.default != ""):
        return spec.flag.read(given)
    return tuple(given) if isinstance(given, list) else given


def _is_repeated(spec: OptionSpec) -> bool:
    """Whether an option is given once for each of its values."""
    return get_origin(spec.type) is tuple and Ellipsis in get_args(spec.type) and spec.flag.read is None


def _built(options: type[O], values: Mapping[tuple[str, ...], Any], *, constant: Mapping[str, Any]) -> O:
    """An options object from the values of its fields and those of its nested dataclasses."""
    types = get_type_hints(options)
    arguments = {}
    for field in fields(options):  # type: ignore[arg-type]
        if field.name in constant:
            arguments[field.name] = constant[field.name]
        elif is_dataclass(types[field.name]):
            inner = {path[1:]: value for path, value in values.items() if path[0] == field.name}
            arguments[field.name] = _built(types[field.name], inner, constant=constant)
        elif (field.name,) in values:
            arguments[field.name] = values[field.name,]
    return options(**arguments)


_LAST = ("listing", "workers", "timeout_s", "video_timeout_s", "overwrite")


def _rank(spec: OptionSpec) -> int:
    """The order of options in the help: required ones, the verb's own, then those that all verbs share."""
    if spec.default is MISSING:
        return 0
    return 2 + _LAST.index(spec.path[0]) if spec.path[0] in _LAST else 1


def _parameter(spec: OptionSpec) -> inspect.Parameter:
    """A parameter of the command, as typer reads it."""
    flag = spec.flag
    default = inspect.Parameter.empty if spec.default is MISSING else word_of(spec, spec.default)
    kind, parts = spec.type, get_args(spec.type)
    settings: dict[str, Any] = {"help": spec.help, "metavar": flag.metavar, "min": flag.least, "max": flag.most}
    settings["show_default"] = flag.shown != "-" and (flag.shown or True)
    if _is_repeated(spec):
        kind = list[parts[0]]  # type: ignore[valid-type]
        if spec.default is not MISSING:
            kind, default = kind | None, None
    elif flag.read is not None and Path in (kind, *parts) and str not in parts:
        settings["parser"] = flag.read
    elif flag.read is not None or str in parts:  # of several types: text on the command line
        kind = str | None if type(None) in parts else str
    if flag.positional:
        info: Any = typer.Argument(**settings)
    else:
        info = typer.Option(f"--{spec.name.replace('_', '-')}", **settings)
    return inspect.Parameter(
        spec.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )
