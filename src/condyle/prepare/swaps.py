"""Two sensors that report each other's poses for a stretch of a take: cables or labels that were exchanged.

Where tracks change places, each goes on where the other was: that tells the moments. Where it cannot be seen (a pause
between recordings, samples that are missing just then) the moments are guessed. Between such moments every stretch is
tried both ways: with the right one, the joints of both bodies fit over the whole take; with the other they do not. All
of it comes from sums over stretches, which are exchanged as the sensors are, so no fit is spoilt by what it looks for.
The data tell only where the labels change. Of the two readings the one that leaves more as it was recorded is taken,
unless edges of the tree are known, which fit in one of them only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, Ints
from ..maths.graph import spanning_tree
from ..maths.robust import median
from ..maths.series import count_frames, cut_blocks, find_runs
from ..maths.spool import copy_array, empty, over_frames, seal, zeros
from ..model.options import FitOptions
from ..model.stage import Decision, Effect
from ..model.take import WORLD, Take
from ..model.values import dataclass
from ..pairs.digest import digest_take
from ..pairs.exchange import Exchange, fit_residual, sum_stretches
from ..pairs.fits import fit_pairs, gap_blocks, gaps
from ..pairs.rows import read_rows
from ..pairs.sums import PairSums, sum_pairs
from .flips import describe_left_flips
from .tracks import Moves, find_crossings, find_moves, measure_nearness

SUSPECT_STRETCH_S = 0.75  # s in which the usual gap of a body's best joint is looked at
SUSPECT_MIN_SHARE = 0.1  # that gap over the sensors' distance, from which a body is tried without a sign of a swap
HALF_OFF_MIN_SHARE = 0.25  # of a take's stretches: a body that is so far off in more may be exchanged for half of it
MOST_SUSPECTS = 6  # such bodies, the worst ones
GUESSED_STRETCHES = 16  # stretches into which a take is cut to try such bodies
MOST_HOLES = 36  # longest times without samples whose ends are tried as well
MOST_CUTS = 40  # moments tried for one pair, at most
HOLE_MIN_SAMPLES = 2  # missing samples from which labels may have changed meanwhile
SWAP_MIN_FRAMES = 5  # frames in a stretch
SUMMED_FRAMES = 2000  # frames that the sums are made of
END_ROUNDS = 3  # of finding the ends and fitting the joints in turn
SEEN_MIN_FALL = 0.02  # fall of the sum of log residuals from which an exchange at moments that were seen is looked at
GUESSED_MIN_FALL = 0.2  # fall of that sum from which one at moments that were guessed is looked at
SWAP_MIN_TIMES = 4.0  # times that the gaps of both bodies shrink when exchanged
SWAP_EACH_MIN_TIMES = 2.0  # times that the gap of each of their joints shrinks when exchanged
SWAP_MAX_USUAL_GAPS = 8.0  # gap after the exchange over that of the rest of the take
EXACT_SHARE = 1e-4  # of the sensors' distance: gaps below it are alike
EITHER_PART_MIN_SHARE = 0.4  # share of a pair's frames from which it is not known which part is right
KNOWN_EDGE_MIN_TIMES = 1.5  # times better that known edges must fit in one reading to tell which part is right
MOST_SWAPPED_PAIRS = 8  # pairs of bodies that are exchanged in one take


@dataclass(frozen=True)
class Swap:
    """Sensors that have each other's poses in frames first <= k < stop: each the next one's, and the last the first's.

    start, end  [s]  times of the first and of the last such frame
    gap, left   [m]  usual gap of their joints there as recorded, and when exchanged
    sure             False: the rest of the take is hardly longer, and which part is right cannot be told
    """

    bodies: tuple[str, ...]
    first: int
    stop: int
    start: float
    end: float
    gap: float
    left: float
    sure: bool = True


def find_swaps(take: Take, known: Sequence[tuple[int, int]] = ()) -> list[Swap]:
    """The exchanged stretches of a take, pair by pair; `known` are edges of the tree, as pairs of bodies."""
    if not take.timed or take.bodies < 2 or take.frames < 4 * SWAP_MIN_FRAMES:
        return []
    moves = find_moves(take)
    found = _find_circles(take, moves)
    if found:
        take = exchange_back(take, found)
        moves = find_moves(take)
    crossings = find_crossings(moves)
    spikes = zeros(take.seen.shape, np.bool_)
    spikes[tuple(digest_take(take).spike.T)] = True
    rows = read_rows(take)
    if rows.digest is not None and not crossings:  # mean poses tell as much of what is exchanged for long
        share = _best_joints(rows.take, rows.sums, rows.fits.residual)[1]
        if not _suspect_pairs(share):
            return found
    part, kept = take.thin(SUMMED_FRAMES)
    part = part.mask(spikes[kept]) if spikes[kept].any() else part
    residual, share = _best_joints(part, sum_pairs(part))
    if not crossings and not _suspect_pairs(share):
        return found
    first: tuple[Floats, Floats] | None = (residual, share)
    take = take.mask(spikes) if spikes.any() else take
    done: set[tuple[int, int]] = set()
    left: list[_Best] | None = None
    for _ in range(2 * MOST_SWAPPED_PAIRS):
        left = _rank_exchanges(take, crossings, done, first) if left is None else left
        if not left:
            break
        best = left.pop(0)
        swapped = _orient(take, best.pair, np.repeat(best.swapped, np.diff(best.cuts)), known)
        swaps = _verify(take, best.pair, _refine(take, best, swapped))
        if swaps:
            take, first, left = exchange_back(take, swaps), None, None  # what did not fit before may do so now
            found += swaps
            done.add(best.pair)
    return sorted(found, key=lambda one: one.first)


def exchange_back(take: Take, swaps: Sequence[Swap]) -> Take:
    """The take with the sensors' poses exchanged back in every stretch."""
    R, p = copy_array(take.R_world_body), copy_array(take.p_world_body)
    for swap in reversed(swaps):
        has = [take.index(name) for name in swap.bodies]
        rows, owner = slice(swap.first, swap.stop), [*has[1:], has[0]]
        R[rows, owner], p[rows, owner] = R[rows, has], p[rows, has]
    return replace(take, R_world_body=seal(R), p_world_body=seal(p)) if swaps else take


def find_hidden(take: Take, swaps: Sequence[Swap]) -> Bools:
    """(n, m) the poses of these sensors in every stretch."""
    out = np.zeros((take.frames, take.bodies), dtype=bool)
    for swap in swaps:
        out[swap.first : swap.stop, [take.index(name) for name in swap.bodies]] = True
    return out


def describe_swaps(swaps: Sequence[Swap], repaired: bool) -> list[Finding]:
    """What to say of them."""
    found = []
    for swap in swaps:
        *others, last = swap.bodies
        circle = " in a circle" if len(others) > 1 else ""
        done = "their poses there were exchanged" if repaired else "there they are left out; --fix swaps exchanges them"
        text = (
            f"{', '.join(others)} and {last}: exchanged{circle} from {swap.start:.2f} to {swap.end:.2f} s "
            "(there their joints come apart by "
            f"{1000 * swap.gap:.0f} mm as recorded, by {1000 * swap.left:.0f} mm when exchanged); {done}; "
        )
        if swap.sure:
            text += "check cables and labels"
        else:
            text += "it may be the rest of the take that is exchanged: check which part is right, or give the tree"
        found.append(
            Finding(
                "swap",
                "warning",
                text,
                swap.bodies,
                time=(swap.start, swap.end),
                value=swap.gap,
                unit="m",
                frame=swap.first,
                count=swap.stop - swap.first,
            )
        )
    return found


def _find_circles(take: Take, moves: Moves) -> list[Swap]:
    """Stretches in which three sensors went round: each goes on where the next was, in one moment that is seen."""
    turns: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for t, goes in moves.items():
        bodies = sorted({body for pair in goes for body in pair})
        for three in combinations(bodies, 3) if 3 <= len(bodies) <= MOST_SWAPPED_PAIRS else ():
            for way, ring in ((1, three), (-1, three[::-1])):
                if set(zip(ring, (*ring[1:], ring[0]), strict=True)) <= goes:
                    turns.setdefault(three, []).append((t, way))
    found: list[Swap] = []
    for members, changes in turns.items():
        state = np.zeros(take.frames, dtype=np.int64)
        for t, way in changes:
            state[t:] += way
        state = (state - np.argmax(np.bincount(state % 3, minlength=3))) % 3
        for way in (1, 2):
            found += _verify(take, members if way == 1 else members[::-1], state == way)
    return sorted(found, key=lambda one: one.first)


@dataclass(frozen=True, eq=False)
class _Best:
    """The exchange of a pair that lowers its residuals most.

    cuts     (K + 1,) frames at which its stretches begin, and the end of the take
    swapped  (K,)     stretches that are exchanged
    seen     (K + 1,) whether the moment was seen to the frame
    """

    pair: tuple[int, int]
    cuts: Ints
    swapped: Bools
    seen: Bools
    fall: float


def _rank_exchanges(
    take: Take,
    crossings: dict[tuple[int, int], Ints],
    done: set[tuple[int, int]],
    joints: tuple[Floats, Floats] | None,
) -> list[_Best]:
    """Of every pair that is not done the best exchange, if it is worth it; what lowers the residuals most comes first.

    joints   what `_best_joints` finds in this take, where that is known
    """
    part, rows = take.thin(SUMMED_FRAMES)
    residual, share = joints or _best_joints(part, sum_pairs(part))
    guessed = _suspect_pairs(share)
    pairs = {*crossings, *guessed} - done
    if not pairs:
        return []
    floor = EXACT_SHARE * measure_nearness(take)
    cut: dict[bytes, list[tuple[tuple[int, int], bool, Ints, Bools]]] = {}
    for pair in sorted(pairs):
        for guess in (False, True) if pair in guessed else (False,):
            cuts, seen = _cuts(take, pair, crossings.get(pair, np.empty(0, np.int64)), guess)
            edges = np.searchsorted(rows, cuts)
            apart = np.concatenate([np.diff(edges) > 0, [True]])
            if apart.sum() > 2:
                cut.setdefault(edges[apart].tobytes(), []).append((pair, guess, cuts[apart], seen[apart]))
    best: dict[tuple[int, int], _Best] = {}
    for edges_bytes, trials in cut.items():  # pairs that are cut at the same moments share their sums
        bodies = sorted({body for pair, *_ in trials for body in pair})
        sums = sum_stretches(part, bodies, np.frombuffer(edges_bytes, dtype=np.intp))
        for pair, guess, cuts, seen in trials:
            trial = Exchange(sums[:, [bodies.index(body) for body in pair]], pair, residual, floor)
            worth = GUESSED_MIN_FALL if guess else SEEN_MIN_FALL
            swapped, fall = trial.search(worth)
            if fall >= worth and (pair not in best or fall > best[pair].fall):
                best[pair] = _Best(pair, cuts, swapped, seen, fall)
    return sorted(best.values(), key=lambda one: (-one.fall, one.pair))


def _suspect_pairs(share: Floats) -> set[tuple[int, int]]:
    """Pairs that may be exchanged though no track is seen to change places; `share` (k, m) as of `_best_joints`.

    Two that are exchanged come apart in the same stretch. Where they are for about half of the take, the joint of one
    may have been fitted to one half and that of the other to the other.
    """
    most = share.max(axis=0, initial=0.0)
    worst = np.argsort(-most)[:MOST_SUSPECTS]
    off = share > SUSPECT_MIN_SHARE
    long = off.mean(axis=0) > HALF_OFF_MIN_SHARE
    return {
        (a, b)
        for a, b in combinations(sorted(worst[most[worst] > SUSPECT_MIN_SHARE].tolist()), 2)
        if (off[:, a] & off[:, b]).any() or (long[a] and long[b])
    }


def _best_joints(take: Take, sums: PairSums, fitted: Floats | None = None) -> tuple[Floats, Floats]:
    """Residuals [m] of all pairs (m, m), and (k, m) the gap of each body's best joint in stretches of the take.

    Of every stretch the median counts, over the distance of the two sensors: spikes do not show, another body does.

    fitted   (P,) [m] residuals of the pairs, where they are known
    """
    m = take.bodies
    i, j = np.triu_indices(m, 1)
    residual = np.full((m, m), np.inf)
    found = fit_residual(sums[i, j]) if fitted is None else np.where(np.isnan(fitted), np.inf, fitted)
    residual[i, j] = residual[j, i] = found
    k, partner = np.arange(m), residual.argmin(axis=1)
    fits = fit_pairs(sums, np.stack([k, partner], axis=1))
    gap = empty((take.frames, m))
    for rows, part in gap_blocks(take, *fits.joints):
        square = part**2
        gap[rows] = np.sqrt(square[0] + square[1] + square[2])
    length = max(SWAP_MIN_FRAMES, count_frames(SUSPECT_STRETCH_S / max(take.seconds, 1e-9) * take.frames, take.frames))
    apart = np.sqrt(sums.dd[k, partner] / np.maximum(sums.frames[k, partner], 1))
    share = median(cut_blocks(gap, length)) / np.maximum(apart, 1e-300)
    return residual, np.where(np.isfinite(residual[k, partner]), share, 0.0)


def _cuts(take: Take, pair: tuple[int, int], crossings: Ints, guess: bool) -> tuple[Ints, Bools]:
    """Frames at which labels may change, 0 and n included, and whether each was seen to the frame."""
    n = take.frames
    between = np.flatnonzero(np.diff(take.segment)) + 1
    sure = {0, n, *[*crossings.tolist(), *between.tolist()][:MOST_CUTS]}
    guessed: set[int] = set()
    if guess:
        both = np.flatnonzero(take.seen[:, list(pair)].all(axis=1))
        step = np.diff(both)
        hole = np.flatnonzero(step > HOLE_MIN_SAMPLES)
        hole = hole[np.argsort(-step[hole], kind="stable")][:MOST_HOLES]
        guessed = {*both[hole + 1].tolist(), *np.linspace(0, n, GUESSED_STRETCHES + 1).astype(int).tolist()} - sure
    cuts = np.array(sorted(sure | guessed), dtype=np.int64)
    return cuts, np.array([k in sure for k in cuts])


def _refine(take: Take, best: _Best, swapped: Bools) -> Bools:
    """(n,) the same, with the ends of every exchanged run that were guessed moved to where the gaps say."""
    if best.seen.all():
        return swapped
    seen = set(best.cuts[best.seen].tolist()) - {0, take.frames}
    reach = max(SWAP_MIN_FRAMES, 2 * take.frames // GUESSED_STRETCHES)
    for _ in range(END_ROUNDS):
        better = _gain(take, best.pair, swapped)
        out = np.zeros_like(swapped)
        runs = find_runs(swapped)
        for k, (first, stop) in enumerate(runs):
            before = runs[k - 1][1] if k else 0
            after = runs[k + 1][0] if k + 1 < len(runs) else take.frames
            low = first if first in seen else max(first - reach, (before + first) // 2 if k else 0)
            high = stop if stop in seen else min(stop + reach, -(-(stop + after) // 2))
            start, end = _best_run(better[low:high])
            out[first if first in seen else low + start : stop if stop in seen else low + end] = True
        if (out == swapped).all():
            break
        swapped = out
    return swapped


def _best_run(values: Floats) -> tuple[int, int]:
    """First index and end of the run with the largest sum."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    low = np.minimum.accumulate(total)
    end = int(np.argmax(total - low))
    return int(np.argmin(total[: end + 1])), end


def _joints_of(take: Take, pair: tuple[int, ...], swapped: Bools) -> tuple[Take, Ints, Floats, Floats]:
    """The take with bodies exchanged back where `swapped` (n,), and its spanning tree's joints at them."""
    other = _with_exchange(take, pair, swapped)
    part, _ = other.thin(SUMMED_FRAMES)
    fits = fit_pairs(sum_pairs(part))
    edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names)
    own = edges[np.isin(fits.pairs[edges], pair).any(axis=1)]
    return other, fits.pairs[own], fits.p_child_joint[own], fits.p_parent_joint[own]


def _with_exchange(take: Take, pair: tuple[int, ...], swapped: Bools) -> Take:
    order = np.arange(take.bodies)
    order[[*pair[1:], pair[0]]] = pair

    def exchange(values: Floats) -> Floats:
        wide = (slice(None), *(None,) * (values.ndim - 1))
        return seal(over_frames(lambda part, which: np.where(which[wide], part[:, order], part), values, swapped))

    R, p = exchange(take.R_world_body), exchange(take.p_world_body)
    return replace(take, R_world_body=R, p_world_body=p)


def _gap_sizes(take: Take, pair: tuple[int, ...], swapped: Bools) -> tuple[Floats, Floats]:
    """(n, J) [m] gaps of these bodies' joints, with the bodies as in `swapped` (n,), and the other way round."""
    _, pairs, c, l = _joints_of(take, pair, swapped)
    right, wrong = (_with_exchange(take, pair, which) for which in (swapped, ~swapped))
    sizes = [over_frames(lambda part: np.linalg.norm(part, axis=2), gaps(one, pairs, c, l)) for one in (right, wrong)]
    return sizes[0], sizes[1]


def _gain(take: Take, pair: tuple[int, int], swapped: Bools) -> Floats:
    """(n,) how much better each frame fits when exchanged, every gap counted up to a few times its usual size, and one
    that is not known by half as much: one that fits is better than none, and one that does not is worse.
    """
    right, wrong = _gap_sizes(take, pair, swapped)
    limit = 3 * np.maximum(median(right), 1e-9)
    right, wrong = (np.nan_to_num(np.minimum(one / limit, 1.0) ** 2, nan=0.5).sum(axis=1) for one in (right, wrong))
    return np.asarray(np.where(swapped, wrong - right, right - wrong))


def _orient(take: Take, pair: tuple[int, int], swapped: Bools, known: Sequence[tuple[int, int]]) -> Bools:
    """The same labels or all of them exchanged: known edges tell, else what leaves most of the take as it is."""
    own = np.array([edge for edge in known if set(edge) & set(pair) and set(edge) != set(pair)], dtype=np.int64)
    if len(own):
        size = []
        for which in (swapped, ~swapped):
            fits = fit_pairs(sum_pairs(_with_exchange(take, pair, which).thin(SUMMED_FRAMES)[0]), own)
            size.append(float(np.exp(np.mean(np.log(np.maximum(fits.residual, 1e-9))))))
        if max(size) > KNOWN_EDGE_MIN_TIMES * min(size):
            return swapped if size[0] < size[1] else ~swapped
    both = take.seen[:, list(pair)].any(axis=1)
    return swapped if 2 * (swapped & both).sum() <= both.sum() else ~swapped


def _verify(take: Take, pair: tuple[int, ...], swapped: Bools) -> list[Swap]:
    """The stretches in which every joint of these bodies fits when exchanged and comes apart as it is."""
    right, wrong = _gap_sizes(take, pair, swapped)
    if not right.shape[1] or not swapped.any():
        return []
    both: Bools = np.asarray(take.seen[:, list(pair)].any(axis=1))
    share = (swapped & both).sum() / max(both.sum(), 1)
    floor = EXACT_SHARE * measure_nearness(take)
    usual = np.maximum(median(np.where(swapped[:, None], np.nan, right)), floor)
    out = []
    for first, stop in find_runs(swapped):
        rows = np.arange(first, stop)[both[first:stop]]
        if len(rows) < SWAP_MIN_FRAMES:
            continue
        seen = np.isfinite(right[rows]).sum(axis=0) >= SWAP_MIN_FRAMES
        if not seen.any():
            continue
        left, gap = np.maximum(median(right[rows][:, seen]), floor), median(wrong[rows][:, seen])
        whole = float(np.sqrt((gap**2).mean() / max((left**2).mean(), 1e-100)))  # of bodies at one place both are zero
        if (
            whole >= SWAP_MIN_TIMES
            and (gap >= SWAP_EACH_MIN_TIMES * left).all()
            and (left <= SWAP_MAX_USUAL_GAPS * usual[seen]).all()
        ):
            out.append(
                Swap(
                    tuple(take.names[body] for body in pair),
                    int(rows[0]),
                    int(rows[-1]) + 1,
                    float(take.time[rows[0]]),
                    float(take.time[rows[-1]]),
                    float(np.sqrt((gap**2).mean())),
                    float(np.sqrt((left**2).mean())),
                    bool(share < EITHER_PART_MIN_SHARE),
                )
            )
    return out


@dataclass(frozen=True, eq=False)
class SwapRepair:
    """Two sensors exchanged back where they were exchanged, or both left out there."""

    swap: Swap
    exchange: bool
    repair: str = "swaps"
    size: float | None = None
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = False

    @property
    def effect(self) -> Effect:
        return "moves" if self.exchange else "leaves out"

    @property
    def bodies(self) -> tuple[str, ...]:
        return self.swap.bodies

    @property
    def first(self) -> int:
        return self.swap.first

    @property
    def suspicion(self) -> str:
        times = f"from {self.swap.start:.2f} to {self.swap.end:.2f} s"
        return f"{' and '.join(self.bodies)}: perhaps exchanged {times}"

    def apply(self, take: Take) -> Take:
        return exchange_back(take, [self.swap]) if self.exchange else take.mask(find_hidden(take, [self.swap]))

    def describe(self) -> list[Finding]:
        return describe_swaps([self.swap], self.exchange)


def repair_swaps(take: Take, options: FitOptions) -> Decision:
    """The stage of it: before latency, which a sensor on another's body would be taken for."""
    if not options.puts_flips_right and describe_left_flips(take):
        return Decision()
    known = [(take.index(a), take.index(b)) for a, b in options.tree if WORLD not in (a, b)]
    return Decision(changes=[SwapRepair(swap, options.fixes("swaps")) for swap in find_swaps(take, known)])
