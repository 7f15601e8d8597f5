/** Pieces of motion, from packed bytes to poses. src/condyle/report/pack.py states the format. */

import { at } from "../at";
import type { PageJoint, PageMotion } from "../data";
import { multiply, quaternionOfVector, rotate } from "./quaternion";

/** What is needed to understand the numbers of a piece. */
export interface Packing {
  readonly bodies: number;
  readonly motion: Pick<PageMotion, "position_step" | "orientation_step" | "time_step" | "free" | "breaks" | "starts">;
  /** joints of the tree, parents first */
  readonly joints: readonly PageJoint[];
  /** joints of the tree, then loops */
  readonly links: readonly PageJoint[];
}

/**
 * Poses of `frames` shown frames from number `first` on, of m bodies. Places are counted from the motion's origin [m],
 * quaternions are w, x, y, z; a frame's bodies stand one after the other. Gaps and weights stand link after link.
 */
export interface Poses {
  readonly first: number;
  readonly frames: number;
  readonly time: Float64Array;
  readonly seen: Uint8Array;
  readonly known: Uint8Array;
  readonly p: Float32Array;
  readonly q: Float32Array;
  readonly playedP: Float32Array;
  readonly playedQ: Float32Array;
  /** [m], NaN where not known */
  readonly gap: Float32Array;
  /** 0 where the frame did not count */
  readonly weight: Uint8Array;
}

/** One group: a byte with the order of its differences, then four planes of bytes; gives channel after channel. */
export function unpackGroup(raw: Uint8Array, begin: number, channels: number, frames: number): Int32Array {
  const size = channels * frames;
  const order = at(raw, begin);
  const b0 = begin + 1;
  const b1 = b0 + size;
  const b2 = b1 + size;
  const b3 = b2 + size;
  const values = new Int32Array(size);
  for (let i = 0; i < size; i++) {
    const low = (raw[b0 + i] ?? 0) | ((raw[b1 + i] ?? 0) << 8);
    const u = low | ((raw[b2 + i] ?? 0) << 16) | ((raw[b3 + i] ?? 0) << 24);
    values[i] = (u >>> 1) ^ -(u & 1);
  }
  for (let pass = 0; pass < order; pass++) {
    for (let c = 0; c < channels; c++) {
      const end = (c + 1) * frames;
      for (let i = c * frames + 1; i < end; i++) values[i] = ((values[i] ?? 0) + (values[i - 1] ?? 0)) | 0;
    }
  }
  return values;
}

/** A whole piece. */
export function unpack(raw: Uint8Array, first: number, frames: number, packing: Packing): Poses {
  const { bodies: m, motion, links } = packing;
  let end = 0;
  const nextGroup = (channels: number): Int32Array => {
    const begin = end;
    end = begin + 1 + 4 * channels * frames;
    if (end > raw.length) throw new Error(`piece at frame ${first} has ${raw.length} bytes and ends too early`);
    return unpackGroup(raw, begin, channels, frames);
  };
  const time = nextGroup(1);
  const seen = nextGroup(m);
  const known = nextGroup(m);
  const largest = nextGroup(m);
  const rest = nextGroup(3 * m);
  const place = nextGroup(3 * motion.free.length);
  const shift = nextGroup(3 * m);
  const turn = nextGroup(3 * m);
  const gap = nextGroup(links.length);
  const weight = nextGroup(links.length);
  if (end !== raw.length) throw new Error(`piece at frame ${first} has ${raw.length} bytes, expected ${end}`);
  const playedQ = quaternions(largest, rest, known, frames, m, motion.orientation_step / 2);
  const playedP = places(place, playedQ, known, frames, packing);
  const measured = measuredPoses(playedP, playedQ, shift, turn, frames, packing);
  return {
    first,
    frames,
    time: seconds(time, first, motion),
    seen: frameMajor(seen, frames, m),
    known: frameMajor(known, frames, m),
    p: measured.p,
    q: measured.q,
    playedP,
    playedQ,
    gap: gaps(gap, frames, links),
    weight: Uint8Array.from(weight),
  };
}

function seconds(values: Int32Array, first: number, motion: Packing["motion"]): Float64Array {
  let recording = 0;
  return Float64Array.from(values, (value, i) => {
    while ((motion.breaks[recording] ?? Infinity) <= first + i) recording++;
    return at(motion.starts, recording) + value * motion.time_step;
  });
}

function frameMajor(values: Int32Array, frames: number, m: number): Uint8Array {
  const out = new Uint8Array(frames * m);
  for (let b = 0; b < m; b++) for (let k = 0; k < frames; k++) out[k * m + b] = values[b * frames + k] ?? 0;
  return out;
}

/** The largest component follows from the other three; where a pose is not known, no rotation. */
function quaternions(
  largest: Int32Array,
  rest: Int32Array,
  known: Int32Array,
  frames: number,
  m: number,
  step: number,
): Float32Array {
  const q = new Float32Array(frames * m * 4);
  for (let b = 0; b < m; b++) {
    for (let k = 0; k < frames; k++) {
      const i = (k * m + b) * 4;
      if (!known[b * frames + k]) {
        q[i] = 1;
        continue;
      }
      const big = largest[b * frames + k] ?? 0;
      let squares = 0;
      let channel = 3 * b;
      for (let c = 0; c < 4; c++) {
        if (c === big) continue;
        const value = (rest[channel++ * frames + k] ?? 0) * step;
        q[i + c] = value;
        squares += value * value;
      }
      q[i + big] = Math.sqrt(Math.max(1 - squares, 0));
    }
  }
  return q;
}

/** Played places: packed for free bodies, through the joints for all others. */
function places(place: Int32Array, q: Float32Array, known: Int32Array, frames: number, packing: Packing): Float32Array {
  const { bodies: m, motion, joints } = packing;
  const p = new Float32Array(frames * m * 3);
  motion.free.forEach((b, f) => {
    for (let k = 0; k < frames; k++) {
      if (!known[b * frames + k]) continue;
      for (let x = 0; x < 3; x++) {
        p[(k * m + b) * 3 + x] = (place[(3 * f + x) * frames + k] ?? 0) * motion.position_step;
      }
    }
  });
  const free = new Set(motion.free);
  const up: [number, number, number] = [0, 0, 0]; // from the parent to the joint
  const down: [number, number, number] = [0, 0, 0]; // from the child to the joint
  for (const joint of joints) {
    const { child, parent } = joint;
    if (free.has(child)) continue;
    for (let k = 0; k < frames; k++) {
      if (!known[child * frames + k]) continue;
      const c = k * m + child;
      const a = k * m + parent;
      rotate(q, a * 4, joint.p_parent_joint, up);
      rotate(q, c * 4, joint.p_child_joint, down);
      p[c * 3] = (p[a * 3] ?? NaN) + up[0] - down[0];
      p[c * 3 + 1] = (p[a * 3 + 1] ?? NaN) + up[1] - down[1];
      p[c * 3 + 2] = (p[a * 3 + 2] ?? NaN) + up[2] - down[2];
    }
  }
  return p;
}

function measuredPoses(
  playedP: Float32Array,
  playedQ: Float32Array,
  shift: Int32Array,
  turn: Int32Array,
  frames: number,
  packing: Packing,
): { p: Float32Array; q: Float32Array } {
  const { bodies: m, motion } = packing;
  const p = new Float32Array(frames * m * 3);
  const q = new Float32Array(frames * m * 4);
  const vector: [number, number, number] = [0, 0, 0];
  const turned = new Float32Array(4);
  for (let b = 0; b < m; b++) {
    for (let k = 0; k < frames; k++) {
      const i = k * m + b;
      for (let x = 0; x < 3; x++) {
        const channel = (3 * b + x) * frames + k;
        p[i * 3 + x] = (playedP[i * 3 + x] ?? NaN) + (shift[channel] ?? 0) * motion.position_step;
        vector[x] = (turn[channel] ?? 0) * motion.orientation_step;
      }
      quaternionOfVector(vector, turned, 0);
      multiply(playedQ, i * 4, turned, 0, q, i * 4);
    }
  }
  return { p, q };
}

function gaps(values: Int32Array, frames: number, links: readonly PageJoint[]): Float32Array {
  const out = new Float32Array(values.length);
  links.forEach((link, j) => {
    for (let i = j * frames; i < (j + 1) * frames; i++) {
      const value = values[i] ?? 0;
      out[i] = value > 0 ? (value - 1) * link.gap_step : NaN;
    }
  });
  return out;
}

/** The bytes of a raw deflate stream. */
export async function inflate(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The bytes that a base64 text stands for. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
