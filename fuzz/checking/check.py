"""`fuzz.check`: two or more functions on the same inputs; bug or rounding?"""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs

from fuzz.backends.base import Array
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import default_directory
from fuzz.campaigns.recorder import Recorder
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.run import Display, Run, Settings
from fuzz.campaigns.spec import resolve
from fuzz.checking import made, naming, options, request
from fuzz.checking.adapters import x64
from fuzz.checking.callables import require_callable
from fuzz.checking.known import Known
from fuzz.checking.made import Made, Subject
from fuzz.checking.preparing import Prepared, prepare
from fuzz.checking.probing import probed
from fuzz.checking.result import Result, result_of
from fuzz.checking.sources import Source, by_value, of_function
from fuzz.errors import UserError
from fuzz.operators.gradients import gradient_name
from fuzz.shrinking.command import shrink_after_run
from fuzz.thresholds import FLAG
from fuzz.variants import expanded
from fuzz.workers.limits import Limits
from results.findings_file import write_findings
from results.reading import open as open_results
from strategies.expressions import parse_recipe
from strategies.precision import PRECISIONS
from strategies.problem import Problem
from strategies.recipes import ParameterError
from strategies.sampling import draw

Function = Callable[..., Any]
TRIALS = 200
SHRINK_SECONDS = 10.0
FILE = "functions.py"


class Asked(Struct, frozen=True):
    """The functions of a check and where other processes find them (None: nowhere)."""

    names: tuple[str, ...]
    functions: tuple[Function | None, ...]
    """None: not here, but where its source says."""
    sources: tuple[Source | None, ...]


class Wanted(Struct, frozen=True):
    """What to run."""

    trials: int = TRIALS
    dtype: str = "float32"
    seed: int = 0
    variants: tuple[str, ...] = ()
    gradients: bool = False


class _Quiet:
    """A display that shows nothing."""

    def start(self) -> None:
        """Nothing to show."""

    refresh = stop = start


def quiet(recorder: Recorder) -> Display:
    return _Quiet()


def check(
    *functions: Function,
    inputs: Any,
    truth: Function | None = None,
    trials: int = TRIALS,
    dtype: str = "float32",
    seed: int = 0,
    names: Sequence[str] | None = None,
    variants: str | Sequence[str] = (),
    gradients: bool = False,
    out: str | Path | None = None,
    call_timeout: float = 60.0,
    workers: int = 1,
    shrink: float = SHRINK_SECONDS,
) -> Result:
    """Run `functions` on the same `trials` draws of `inputs`, judge each, and compare every two.

    Functions may take and return arrays of NumPy, PyTorch, JAX or TVM, in any mix; a torch module counts as a
    function. `inputs` maps their parameters to recipes with a shape (``"normal(0,1)[8,128]"``, docs/strategies.md) or
    to arrays of one's own. The truth is `truth`, else the first NumPy function that the oracle can trace, whose results
    have a bound of their own; else float64 results of the first function stand for it, and verdicts lean on whether
    errors shrink with precision.

    The result prints as a text, and as a table in a notebook; it is an ordinary campaign in `out` (default: a new
    folder below ulpfuzz-runs). What counts against a function is shrunk for up to `shrink` seconds. Raises UserError,
    one line, where the functions cannot be compared at all.

    `variants` calls each function in other ways, too (docs/variants.md): in smaller batches, repeatedly, with strided
    inputs. `gradients` compares the gradients with respect to all inputs as well, for a cotangent of N(0,1), those of
    PyTorch and JAX by their own differentiation.
    """
    if not functions:
        raise UserError("a check needs functions: fuzz.check(f, g, inputs=...)")
    every = (*functions, *(() if truth is None else (truth,)))
    for function in every:
        require_callable(function)
    chosen = options.names(names)
    called = naming.names_of(every, None if chosen is None else [*chosen, *(() if truth is None else ("truth",))])
    asked = Asked(tuple(called), every, tuple(of_function(function) for function in every))
    wanted = request.of_value(inputs, functions[0])
    limits = Limits(call=options.seconds("call_timeout", call_timeout, positive=True))
    settings = Settings(options.whole("workers", workers, 1), limits)
    patience = options.seconds("shrink", shrink, positive=False)
    path = None if out is None else Path(out)
    what = Wanted(trials, dtype, seed, options.variants(variants), gradients)
    return run_check(asked, truth is not None, wanted, what, path, settings, patience)


def run_check(
    asked: Asked,
    has_truth: bool,
    inputs: request.Inputs,
    what: Wanted,
    out: Path | None,
    settings: Settings,
    shrink: float = SHRINK_SECONDS,
    display: Callable[[Recorder], Display] = quiet,
) -> Result:
    """What `check` and the command line have in common. The last function of `asked` is the truth, where it has one."""
    what = _valid(what)
    with _transported(asked) as sources:
        values = _first_draw(inputs, what.dtype, what.seed)
        count = len(asked.names) - has_truth
        try:
            prepared = _prepared(asked, sources, count, values, settings.limits.call)
        except UserError as error:
            raise _explained(error, inputs, what.dtype) from error.__cause__
        described = _described(asked, sources, prepared, inputs, what.dtype)
        given = {n: f for n, f in zip(asked.names, asked.functions, strict=True) if f is not None}
        made.register(described, given)
        try:
            path = out or default_directory(described.operator)
            here = sources is None
            campaign = _run(described, inputs, what, path, settings, here, display)
            if not here and shrink > 0:
                with contextlib.redirect_stderr(io.StringIO()):
                    shrink_after_run(campaign, shrink)
            notes = (*prepared.notes, *_of_this_process(described, what))
            return result_of(path, described, notes, in_process=here)
        finally:
            made.forget(described)


def _explained(error: UserError, inputs: request.Inputs, dtype: str) -> UserError:
    """The refusal, and what may lie behind it: inputs that were integers and are none any more."""
    if not inputs.integers:
        return error
    names = ", ".join(inputs.integers)
    return UserError(
        f"{error} ({names} was given as integers or truth values and is passed as {dtype}, as all inputs are: "
        "what is no number to compute with belongs inside the function, for instance by functools.partial)"
    )


def _valid(what: Wanted) -> Wanted:
    """The same with whole numbers of Python's own; UserError for what cannot be meant."""
    if what.dtype not in PRECISIONS:
        raise UserError(f"dtype is {what.dtype!r}: use one of {', '.join(PRECISIONS)}")
    expanded(what.variants)
    trials, seed = options.whole("trials", what.trials, 1), options.whole("seed", what.seed, 0, 2**63 - 1)
    return structs.replace(what, trials=trials, seed=seed)


@contextlib.contextmanager
def _transported(asked: Asked) -> Iterator[tuple[Source, ...] | None]:
    """Where other processes find every function while the block runs; None where one cannot leave this process."""
    folder = Path(tempfile.mkdtemp(prefix="ulpfuzz-"))
    try:
        found = []
        for name, function, source in zip(asked.names, asked.functions, asked.sources, strict=True):
            try:
                found.append(source or by_value(_here(function), name, folder))
            except Exception:  # noqa: BLE001  # whatever pickling an object of somebody's raises
                found.clear()
                break
        yield tuple(found) or None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _here(function: Function | None) -> Function:
    assert function is not None
    return function


def _first_draw(inputs: request.Inputs, dtype: str, seed: int) -> dict[str, Array]:
    """The inputs of trial 0."""
    sizes, dims = inputs.symbols()
    axes = ((),) * len(dims)
    contract = Made("draw", tuple(sizes.items()), tuple(dims.items()), (), False, (), _NOBODY, False, axes).contract()
    recipes = tuple(parse_recipe(text, tuple(names.split(","))) for names, text in inputs.recipes.items())
    try:
        values: dict[str, Array] = {n: np.empty(s, PRECISIONS[dtype].numpy) for n, s in inputs.shapes.items()}
        for recipe in recipes:
            recipe.check(dtype, [inputs.shapes[name] for name in recipe.fills])
        draw(Problem("draw", (), tuple(sizes.items()), dtype, recipes), contract, seed, 0, values)
    except ParameterError as error:
        raise UserError(str(error)) from None
    except (MemoryError, ValueError) as error:  # NumPy's own words for what is too large
        raise UserError(f"the inputs cannot be made: {error}: use smaller shapes") from None
    return values


_NOBODY = Subject("", "", Source(), False)


def names_of_sources(sources: Sequence[Source]) -> list[str]:
    """Names of functions that nobody has imported yet."""
    homes = [Path(source.file or source.module).stem for source in sources]
    return naming.distinct([source.qualname.replace(".", "_") for source in sources], homes)


def _prepared(
    asked: Asked, sources: tuple[Source, ...] | None, count: int, values: Mapping[str, Array], seconds: float
) -> Prepared:
    if sources is None:
        pairs = [(n, f) for n, f in zip(asked.names, asked.functions, strict=True) if f is not None]
        return prepare(pairs[:count], pairs[count] if len(pairs) > count else None, values)
    named = list(zip(asked.names, sources, strict=True))
    return probed(named[:count], named[count] if len(named) > count else None, values, seconds)


def _described(
    asked: Asked, sources: tuple[Source, ...] | None, prepared: Prepared, inputs: request.Inputs, dtype: str
) -> Made:
    sizes, dims = inputs.symbols(prepared.independent)
    where = dict(zip(asked.names, sources or (Source(value="here"),) * len(asked.names), strict=True))

    def subject(known: Known) -> Subject:
        apart = known.own_rho is not None and known.own_rho > FLAG
        return Subject(known.name, known.library, where[known.name], known.by_name, known.mark, apart)

    along = {axis: dims[name][axis] for name, axes in prepared.independent.items() for axis in axes}
    outputs = []
    for number, shape in enumerate(prepared.truth.shapes):
        name = prepared.truth.outputs[number] or ("y" if len(prepared.truth.shapes) == 1 else f"y{number}")
        outputs.append((name, tuple(along.get(axis, size) for axis, size in enumerate(shape))))
    return Made(
        operator=f"check_{asked.names[0]}",
        dims=tuple(sizes.items()),
        inputs=tuple(dims.items()),
        outputs=tuple(outputs),
        named_outputs=any(prepared.truth.outputs),
        subjects=tuple(subject(known) for known in prepared.functions),
        truth=subject(prepared.truth),
        traced=prepared.traced,
        independent=tuple(prepared.independent[name] for name in inputs.shapes),
        dtype=dtype,
        integers=prepared.integers,
    )


def _run(
    described: Made,
    inputs: request.Inputs,
    what: Wanted,
    path: Path,
    settings: Settings,
    here: bool,
    display: Callable[[Recorder], Display],
) -> Campaign:
    names = [subject.name for subject in described.subjects]
    problems = [ProblemSpec(described.operator, dict(described.dims), {}, inputs.recipes)]
    if what.gradients:
        problems.append(structs.replace(problems[0], operator=gradient_name(described.operator)))
    spec = CampaignSpec(
        problems=tuple(problems),
        trials=what.trials,
        seed=what.seed,
        dtypes=(what.dtype,),
        targets=tuple(names),
        pairs=tuple((a, b) for number, a in enumerate(names) for b in names[number + 1 :]),
        variants=what.variants,
        title=f"check of {', '.join(names)}",
    )
    with tempfile.TemporaryDirectory(prefix="ulpfuzz-") as folder:
        file = Path(folder) / FILE
        file.write_text(made.file_text(described), encoding="utf-8")
        campaign = Campaign.create(resolve(spec), path, [file])
    run = Settings(settings.workers, settings.limits, settings.shard_trials, in_process=here)
    if Run(campaign, run, display).execute().interrupted:
        raise KeyboardInterrupt(f"interrupted: finished trials are kept, ulpfuzz report {path} shows them")
    write_findings(open_results(path, verify=False), path)
    return campaign


def _of_this_process(described: Made, what: Wanted) -> list[str]:
    """What differs between the calls of the check and those of the caller."""
    names = [subject.name for subject in described.subjects if subject.library == "jax"]
    if what.dtype != "float64" or not names or x64():
        return []
    return [
        f"x64 is not in force in this process, so JAX turns float64 inputs of {', '.join(names)} into float32 here "
        "without a word; the check switched it on for its own calls"
    ]
