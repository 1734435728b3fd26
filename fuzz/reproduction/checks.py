"""The comparisons of scripts: one for each way to fail. Each is a function `examine` that says whether the defect is
there, and prints what it compared."""

from __future__ import annotations

import re
from fractions import Fraction

from msgspec import Struct

from fuzz.reproduction import literals
from fuzz.reproduction.facts import Facts
from fuzz.reproduction.specimen import DIFFERS, DTYPE, MODIFIES, NONFINITE, OVERRUNS, RAISED, RANGE, RHO, Failing
from fuzz.thresholds import FLAG
from results.verdicts import VERDICTS
from strategies.contract import Contract, Shape
from strategies.precision import precision

LIMIT_SECONDS = 60.0
_SLOW = re.compile(r"took longer than ([0-9.e+]+) s")

_EXCEPTION = re.compile(r"^(?:in the other precision: )?(?:raised )?([A-Za-z_]\w*): ")
_OVERRUN = re.compile(r"bytes outside a buffer changed")
_STANDS_FOR = {"CompileError": ("InternalError", "RuntimeError", "TypeError", "ValueError")}
"""Exceptions of ulpfuzz's own, and what they replace."""
RETURNED = "returned "
"""What the engine's own messages about results of the wrong kind begin with (fuzz.execution)."""

Constants = tuple[tuple[str, str, str], ...]


class Check(Struct, frozen=True):
    """One comparison. `constants` are name, value and comment; `function` a template with {arguments} and {names}."""

    name: str
    claim: str
    computes: str
    function: str
    constants: Constants = ()
    imports: tuple[str, ...] = ()
    subprocess: bool = False


_RHO = '''
def examine():
    """Whether the error exceeds what rounding and conditioning explain."""
    value = float(compute({arguments})[AT])
    print(f"value    {{value!r}}\\ntruth    {{TRUTH}}")
    if not math.isfinite(value):
        return True
    error = abs(Fraction(value) - Fraction(TRUTH))
    allowed = Fraction(U) * Fraction(E)
    rho = float(min(error / allowed, 10**300)) if allowed else float(error and math.inf)
    relative = float(min(error / abs(Fraction(TRUTH)), 10**300)) if Fraction(TRUTH) else float(error and math.inf)
    print(f"error    {{float(error):.3g}} = {{float(error / ULP):.4g}} ulp, relative {{relative:.3g}}")
    print(f"rho      {{rho:.4g}} = error / (U E); rounding explains values up to 1, above {flag:g} is a defect")
    return rho > {flag:g}
'''
_NEAREST = '''
def examine():
    """Whether the result is another number than the one nearest to the exact value."""
    value = float(compute({arguments})[AT])
    print(f"value    {{value!r}}  ({{value.hex()}})\\nnearest  {{NEAREST!r}}  ({{NEAREST.hex()}})\\ntruth    {{TRUTH}}")
    if value == NEAREST or (math.isnan(value) and math.isnan(NEAREST)):
        return False
    if math.isfinite(value) and math.isfinite(float(TRUTH)):
        error = abs(Fraction(value) - Fraction(TRUTH))
        print(f"error    {{float(error):.3g}} = {{float(error / ULP):.4g}} ulp; IEEE 754 allows 0.5 ulp")
    return True
'''
_NONFINITE = '''
def examine():
    """Whether the result is NaN or infinite where the truth is not, or the reverse."""
    value = float(compute({arguments})[AT])
    print(f"value    {{value!r}}\\ntruth    {{TRUTH}}")
    truth = float(TRUTH)
    if math.isnan(value) or math.isnan(truth):
        return math.isnan(value) != math.isnan(truth)
    if math.isinf(value) and math.isinf(truth):
        return value != truth
    return math.isinf(value) != (abs(truth) >= OVERFLOW)
'''
_RANGE = '''
def examine():
    """Whether a finite result lies outside the operator's range."""
    value = float(compute({arguments})[AT])
    print(f"value    {{value!r}}\\nrange    {{LOW!r}} to {{HIGH!r}}\\ntruth    {{TRUTH}}")
    return math.isfinite(value) and not LOW <= value <= HIGH
'''
_DTYPE = '''
def examine():
    """Whether the result has another dtype than its inputs promise."""
    found = str(compute({arguments}).dtype)
    print(f"dtype    {{found}}\\ndue      {{DUE}}")
    return found != DUE
'''
_RAISED = '''
def examine():
    """Whether the call raises instead of returning."""
    try:
        compute({arguments})
    except BaseException as error:  # SystemExit, too
        print(f"raised   {{type(error).__name__}}: {{str(error).strip()[-300:]}}")
        if type(error).__name__ not in ERRORS:
            raise
        return True
    print("returned")
    return False
'''
_SHAPE = '''
def examine():
    """Whether the result has another shape than is due."""
    found = compute({arguments}).shape
    print(f"shape    {{found}}\\ndue      {{DUE}}")
    return found != DUE
'''
_DIES = '''
def examine():
    """Whether a process that makes the call dies or does not come back."""
    try:
        ran = subprocess.run(
            [sys.executable, os.path.abspath(__file__), CALL], timeout=LIMIT, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        print(f"the call did not end within {{LIMIT:g}} s")
        return True
    if ran.returncode < 0:
        print(f"the process died of {{signal.Signals(-ran.returncode).name}}")
        return True
    if ran.returncode == 1 and "Traceback" in ran.stderr:
        raise RuntimeError(ran.stderr.strip())
    if RETURNED not in ran.stdout:
        print(f"the process ended with exit code {{ran.returncode}}")
        print(ran.stderr.strip()[-300:])
        return True
    print("the call returned")
    return False
'''
_DIFFERS = '''
def examine():
    """Whether a bit of the result depends on what may not change one. NaN equals NaN, 0 does not equal -0."""
    value, due = compute({arguments}), unchanged({arguments})
    bits = np.dtype(f"u{{value.dtype.itemsize}}")
    differ = (value.view(bits) != due.view(bits)) & ~((value != value) & (due != due))
    print(f"differ   {{int(differ.sum())}} of {{differ.size}} elements")
    if differ.any():
        print(f"value    {{value[differ][0]!r}}\\ndue      {{due[differ][0]!r}}")
    return bool(differ.any())
'''
_MODIFIES = '''
def examine():
    """Whether the call changes its inputs."""
    given = [{arguments}]
    before = [array.tobytes() for array in given]
    compute(*given)
    changed = [number for number, array in enumerate(given) if array.tobytes() != before[number]]
    print(f"changed  {{len(changed)}} of {{len(given)}} inputs")
    return bool(changed)
'''
_OVERRUNS = '''
def examine():
    """Whether the call writes outside its output buffer."""
    compute({arguments})
    outside = sum(int((part != FILL).sum()) for whole in GUARDED for part in (whole[:MARGIN], whole[-MARGIN:]))
    print(f"changed  {{outside}} bytes outside the output")
    return outside > 0
'''


_VARIES = '''
def examine():
    """Whether the two ways of calling differ by more than two roundings allow."""
    plain, other = float(compute({arguments})[AT]), float(unchanged({arguments})[AT])
    print(f"plain    {{plain!r}}\\nvariant  {{other!r}}\\ntruth    {{TRUTH}}")
    if not (math.isfinite(plain) and math.isfinite(other)):
        return plain != other and not (math.isnan(plain) and math.isnan(other))
    allowed = 2 * Fraction(U) * Fraction(E)
    gap = abs(Fraction(plain) - Fraction(other))
    rho = float(min(gap / allowed, 10**300)) if allowed else float(gap and math.inf)
    print(f"rho      {{rho:.4g}} = difference / (2 U E); two roundings explain up to 1, above {flag:g} is a defect")
    return rho > {flag:g}
'''


def of_variant(
    contract: Contract, source: str, dtype: str, verdict: str, failing: Failing, facts: Facts, variant: str
) -> Check:
    """The comparison of a call with the same one under a variant."""
    claim = f"{source} in {dtype}, plainly and under {variant}: the result {VERDICTS[verdict].sentence}"
    constants = (
        ("AT", repr(facts.at), f"element of output {contract.outputs[failing.output].name} that is compared"),
        ("TRUTH", f'"{facts.truth}"', f"{contract.operator} of exactly these inputs, by {facts.known_by}; shown only"),
        ("U", f"2.0**-{precision(dtype).digits}", f"unit roundoff of {dtype}"),
        (
            "E",
            f"{facts.bound:.6g}",
            "error that a rounding of each input and operation may cause here, in units of U",
        ),
    )
    return Check(
        f"{contract.operator}_{verdict}_{dtype}",
        claim,
        f"{source} in {dtype}, as an array.",
        _VARIES.replace("{flag:g}", f"{FLAG:g}"),
        constants,
        ("math", "from fractions import Fraction"),
    )


def check(
    contract: Contract,
    source: str,
    dtype: str,
    verdict: str,
    failing: Failing,
    facts: Facts | None,
    shape: Shape | None = None,
) -> Check:
    """The comparison for a failure of `source` (a call, for sentences) in `dtype`; of its shape where one is given."""
    sentence = VERDICTS[verdict].sentence
    claim = f"{source} in {dtype}: the result {sentence}"
    name = f"{contract.operator}_{verdict}_{dtype}"
    computes = f"{source} in {dtype}, as an array."
    if shape is not None:
        claim = f"{source} in {dtype}: the result has another shape than is due"
        return Check(name, claim, computes, _SHAPE, (("DUE", repr(shape), "the shape that is due"),))
    if failing.kind == DIFFERS:
        return Check(name, claim, computes, _DIFFERS)
    if facts is None:
        return _of_call(name, claim, computes, dtype, verdict, failing)
    p = precision(dtype)
    at = ("AT", repr(facts.at), f"element of output {contract.outputs[failing.output].name} that is compared")
    truth = (
        "TRUTH",
        f'"{facts.truth}"',
        f"{contract.operator} of exactly these inputs, computed with {facts.known_by}",
    )
    ulp = ("ULP", _power(facts.ulp), f"one unit in the last place of the truth in {dtype}")
    if failing.kind == RHO:
        u = ("U", f"2.0**-{p.digits}", f"unit roundoff of {dtype}")
        e = (
            "E",
            f"{facts.bound:.6g}",
            "error that one rounding of each input and of each operation may cause here, in units of U",
        )
        function = _RHO.replace("{flag:g}", f"{FLAG:g}")
        return Check(
            name, claim, computes, function, (at, truth, u, e, ulp), ("math", "from fractions import Fraction")
        )
    if failing.kind == NONFINITE:
        limit = Fraction(2) ** p.maximum_exponent * (2 - Fraction(2) ** -p.digits)
        over = ("OVERFLOW", f"float.fromhex({_hex(limit)!r})", f"from here on numbers round to infinity in {dtype}")
        return Check(name, claim, computes, _NONFINITE, (at, truth, over), ("math",))
    if failing.kind == RANGE:
        domain = contract.outputs[failing.output].domain
        low = ("LOW", _plain(domain.low), f"the range of {contract.operator}")
        high = ("HIGH", _plain(domain.high), "")
        return Check(name, claim, computes, _RANGE, (at, truth, low, high), ("math",))
    assert facts.nearest is not None
    due = literals.number(facts.nearest, "float64").replace("np.", "math.")
    nearest = ("NEAREST", f"float({due})", "the number nearest to the exact value, decided with fractions")
    imports = ("math", "from fractions import Fraction")
    return Check(name, claim, computes, _NEAREST, (at, truth, nearest, ulp), imports)


def _of_call(name: str, claim: str, computes: str, dtype: str, verdict: str, failing: Failing) -> Check:
    if failing.kind == DTYPE:
        return Check(name, claim, computes, _DTYPE, (("DUE", repr(dtype), "the dtype of the inputs"),))
    if failing.kind == RAISED:
        return Check(name, claim, computes, _RAISED, (("ERRORS", repr(_errors(failing.error)), "what it raises"),))
    if failing.kind == MODIFIES:
        return Check(name, claim, computes, _MODIFIES)
    if failing.kind == OVERRUNS:
        return Check(name, claim, computes, _OVERRUNS)
    slow = _SLOW.search(failing.error)
    limit = float(slow[1]) if slow else LIMIT_SECONDS
    constants = (
        ("LIMIT", f"{limit:g}", "seconds the call may take"),
        ("CALL", '"--call"', "makes the call in this process"),
        ("RETURNED", '"the call has returned"', ""),
    )
    return Check(name, claim, computes, _DIES, constants, ("os", "signal", "subprocess", "sys"), subprocess=True)


def _errors(message: str) -> tuple[str, ...]:
    """Names of the exceptions that a message of the engine stands for."""
    if message.startswith(RETURNED):
        return ("TypeError",)
    if message.startswith("bytes outside") or _OVERRUN.search(message):
        return ("RuntimeError",)
    found = _EXCEPTION.search(message)
    name = found[1] if found else "RuntimeError"
    return _STANDS_FOR.get(name, (name,))


def _power(value: Fraction) -> str:
    """A power of two as an exact expression."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return f"Fraction(2) ** {exponent}"


def _hex(value: Fraction) -> str:
    try:
        return float(value).hex()
    except OverflowError:
        return "inf"


def _plain(value: float) -> str:
    return f'float("{value}")' if value in (float("inf"), float("-inf")) else repr(value)
