// Made from src/condyle/report/page_data.py by `python -m condyle.report.page_types > web/src/data.ts`.
// Change that file and write this one anew; a test compares the two.

/**
 * What the page shows: one definition for Python, which fills it, and for the page, whose types are generated from it.
 *
 * Bodies and joints are told by their place in `bodies` and `joints`. Lengths are metres, angles radians, time seconds;
 * the page shows millimetres and degrees. Names come from files: the page may only ever set them as text. What the page
 * has of a joint, a limb, a placement or a finding are the fields of those in `model`.
 */

export const SURE_SUPPORT = 0.95;
export const NEEDED_TURN_DEG = 5.0;
export const FORMAT = "condyle.page";
export const VERSION = 1;
export const WEIGHT_STEPS = 15;
export const NO_ANGLE = -32768;

/**
 * The sentence that is read from two metres. tone: good: nothing to look at; bad: no figure, or not to be used.
 *
 * sure       joints that are sure
 * length_95  largest half-width of a length's interval as a share of that length; None where not known
 */
export interface PageVerdict {
  readonly text: string;
  readonly tone: "good" | "look" | "bad";
  readonly sure: number;
  readonly length_95: number | null;
}

/**
 * One sensor with the body under it.
 *
 * figure       number of the tree it belongs to, -1 where it is joined to nothing
 * noise        standard deviation per axis, position [m] and orientation [rad]; None where not told
 * masked       frames that did not count, of the take's
 */
export interface PageBody {
  readonly name: string;
  readonly figure: number;
  readonly root: boolean;
  readonly world: boolean;
  readonly noise_position: number | null;
  readonly noise_orientation: number | null;
  readonly masked: number;
}

/**
 * One joint of the tree, or a loop joint, named by its child.
 *
 * child, parent    places in `bodies`
 * place_95         [m] half-widths of the 95 % interval of the joint's place in the child along its principal axes,
 *                  descending; half_width: the widest in both bodies, as findings tell it; None where not determined
 * margin           times the gap would grow with the best other edge, `runner_up`, in its place
 * support          lower bound of the chance that the edge is right, and `rivals` that may stand in its place
 * explained        [m] rms gap that noise and skin explain
 * rotation         [rad] rms relative rotation about the pair's own axes, descending
 * verdict, advice  how well it was exercised, and what to move more
 * gap_step         [m] of the packed gaps
 * p50, p95, largest [m] of the gap's length over all frames with weight
 */
export interface PageJoint {
  readonly child: number;
  readonly parent: number;
  readonly kind: "ball" | "hinge" | "rigid" | "undetermined" | "universal" | "screw" | "slider";
  readonly point: "determined" | "arbitrary";
  readonly p_child_joint: readonly [number, number, number];
  readonly p_parent_joint: readonly [number, number, number];
  readonly axis_child: readonly [number, number, number] | null;
  readonly axis_parent: readonly [number, number, number] | null;
  readonly play: number | null;
  readonly residual: number;
  readonly frames: number;
  readonly margin: number | null;
  readonly runner_up: readonly [number, number] | null;
  readonly rotation: readonly [number, number, number];
  readonly support: number | null;
  readonly rivals: readonly (readonly [number, number])[];
  readonly explained: number | null;
  readonly place_95: readonly [number, number, number] | null;
  readonly half_width: number | null;
  readonly verdict: "enough" | "weak" | "not determined";
  readonly advice: string;
  readonly gap_step: number;
  readonly p50: number;
  readonly p95: number;
  readonly largest: number;
}

/**
 * A stretch in which two bodies are joined: a line of the timeline.
 *
 * joint   place in `joints` of a tree joint that holds for part of the take only; None for a loop
 * p_child_joint, p_parent_joint  [m] the point on both bodies
 * start, end  [s]
 */
export interface PageConnection {
  readonly child: number;
  readonly parent: number;
  readonly joint: number | null;
  readonly p_child_joint: readonly [number, number, number];
  readonly p_parent_joint: readonly [number, number, number];
  readonly residual: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Distance on one body between two of its joints (places in `joints`) with its 95 % interval, all in m.
 */
export interface PageLimb {
  readonly body: number;
  readonly from_joint: number;
  readonly to_joint: number;
  readonly length: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly between: "joints" | "joint and axis" | "axes";
  readonly along: number | null;
  readonly along_95: number | null;
}

/**
 * A joint (place in `joints`) in the frame of a sensor on one of its bodies; their distance, its interval, in m.
 */
export interface PagePlacement {
  readonly body: number;
  readonly joint: number;
  readonly p_body_joint: readonly [number, number, number];
  readonly distance: number;
  readonly low: number | null;
  readonly high: number | null;
}

/**
 * What is to be known, most pressing first. title: what to do, of a note what it is about; cause:
 * what it has in common with others; time [s]: (start, end).
 */
export interface PageFinding {
  readonly code: string;
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  readonly bodies: readonly number[];
  readonly time: readonly [number, number] | null;
  readonly value: number | null;
  readonly title: string;
  readonly cause: string;
  readonly unit: string | null;
}

/**
 * Where a sensor sat on its body from `start` to `end` [s], seen from where it is drawn: its place [m] and its
 * turn, a rotation vector [rad].
 */
export interface PageSlip {
  readonly body: number;
  readonly start: number;
  readonly end: number;
  readonly shift: readonly [number, number, number];
  readonly turn: readonly [number, number, number];
}

/**
 * The gap of a joint (place in `joints`) before sensors were moved back.
 *
 * step    [m] what 1 stands for
 * values  base64 of 16-bit whole numbers, lowest byte first, evenly over the shown frames; 0: as it is now
 */
export interface PageRecorded {
  readonly joint: number;
  readonly step: number;
  readonly values: string;
}

/**
 * How far a body turned [rad, rms about one axis] against `other`, the body that it turned most against.
 */
export interface PageTurn {
  readonly body: number;
  readonly other: number;
  readonly turned: number;
}

/**
 * One joint angle over time.
 *
 * panel      what it is shown under with the other side's, "knee flexion"; side "l", "r" or "" for the middle
 * body       the distal body
 * low, high, median  [rad] over all frames; None where it is never known
 * level      [rad] standard error of its offset, course of its curve, as the frames' errors make them; None: open
 * noise      [rad] of a single frame
 * definition its offset depends on how a frame was defined
 * values     base64 of 16-bit whole numbers, lowest byte first, evenly over the shown frames; NO_ANGLE: not known
 */
export interface PageAngle {
  readonly name: string;
  readonly panel: string;
  readonly side: string;
  readonly body: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly median: number | null;
  readonly level: number | null;
  readonly course: number | null;
  readonly noise: number | null;
  readonly definition: boolean;
  readonly values: string;
}

/**
 * The joint angles, by ISB. step [rad]: what 1 stands for in `values`; made: (segment, how its frame was made).
 */
export interface PageAngles {
  readonly title: string;
  readonly neutral: string;
  readonly heading: string;
  readonly note: string;
  readonly step: number;
  readonly columns: readonly PageAngle[];
  readonly made: readonly (readonly [string, string])[];
}

/**
 * A number of a machine with the half-width of its 95 % interval, in m or rad. free: what the motion alone says,
 * where the value is that of a special case.
 */
export interface PageMeasured {
  readonly value: number;
  readonly half_width: number | null;
  readonly free: number | null;
}

/**
 * One axis of a chain. outer: the body behind it. low, high: [rad] of its angle from the zero, of a slider [m].
 */
export interface PageAxis {
  readonly outer: number;
  readonly kind: string;
  readonly lie: string | null;
  readonly distance: PageMeasured | null;
  readonly angle: PageMeasured | null;
  readonly offset: PageMeasured;
  readonly theta: PageMeasured;
  readonly low: number;
  readonly high: number;
}

/**
 * A chain of axes of a machine. zero [s] of the take; standard: rows of theta, d, a, alpha; screws: rows (z, p x z)
 * in the frame of the base; played [m, rad]: rms between the tool as recorded and by the table.
 */
export interface PageChain {
  readonly base: number;
  readonly tool: number;
  readonly still: boolean;
  readonly zero: number;
  readonly played: readonly [number, number] | null;
  readonly rows: readonly PageAxis[];
  readonly standard: readonly (readonly number[])[];
  readonly screws: readonly (readonly number[])[];
}

/**
 * A stretch in which a body was seen badly or not at all, in s.
 */
export interface Masked {
  readonly body: number;
  readonly start: number;
  readonly end: number;
}

/**
 * How it was made: pairs of a label and what stands there, in groups; enough to repeat it.
 */
export interface Made {
  readonly group: string;
  readonly rows: readonly (readonly [string, string])[];
}

/**
 * Frames that unpack by themselves: `frames` shown ones from number `first` on.
 *
 * data   base64 of a raw deflate stream, see `pack.py`; empty where the piece is fetched from `url`
 */
export interface Piece {
  readonly first: number;
  readonly frames: number;
  readonly data: string;
  readonly url: string;
}

/**
 * The measured and the played motion, packed. pack.py states the form, docs/report.md its precision.
 *
 * frames           shown frames; every `every`-th frame of the take
 * rate             [Hz] of shown frames, median; 0 where there are fewer than two
 * timed            False where time was made up from a count of frames
 * position_step    [m], orientation_step [rad], time_step [s]: what 1 stands for
 * origin           [m] from which packed places are counted
 * up               world axis that points up, as x, -y, ...; None where not known
 * low, high        [m] the box that holds nearly every measured position of every body; spikes may lie outside
 * free             bodies whose played place is packed; of all others it follows from the joints
 * breaks           shown frames at which a new recording begins, 0 not among them; time may jump there
 * starts           [s] time of the first shown frame of every recording, from which packed times are counted: one
 *                  more than there are breaks
 */
export interface PageMotion {
  readonly frames: number;
  readonly every: number;
  readonly rate: number;
  readonly timed: boolean;
  readonly position_step: number;
  readonly orientation_step: number;
  readonly time_step: number;
  readonly origin: readonly [number, number, number];
  readonly up: string | null;
  readonly low: readonly [number, number, number];
  readonly high: readonly [number, number, number];
  readonly free: readonly number[];
  readonly breaks: readonly number[];
  readonly starts: readonly number[];
  readonly pieces: readonly Piece[];
}

/**
 * Everything on the page. exports: (name, what it is) of the formats that the server of the page writes.
 */
export interface PageData {
  readonly format: string;
  readonly version: number;
  readonly condyle: string;
  readonly title: string;
  readonly verdict: PageVerdict;
  readonly seconds: number;
  readonly frames: number;
  readonly bodies: readonly PageBody[];
  readonly joints: readonly PageJoint[];
  readonly loops: readonly PageJoint[];
  readonly connections: readonly PageConnection[];
  readonly limbs: readonly PageLimb[];
  readonly placements: readonly PagePlacement[];
  readonly findings: readonly PageFinding[];
  readonly masked: readonly Masked[];
  readonly made: readonly Made[];
  readonly motion: PageMotion | null;
  readonly angles: PageAngles | null;
  readonly chains: readonly PageChain[];
  readonly slips: readonly PageSlip[];
  readonly recorded: readonly PageRecorded[];
  readonly turns: readonly PageTurn[];
  readonly exports: readonly (readonly [string, string])[];
}
