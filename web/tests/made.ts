/** A small page: a root, a child on it, a loose thing; what a test changes it says itself. */

import { FORMAT, type PageBody, type PageData, type PageJoint, type PageMotion, VERSION } from "../src/data";
import type { State } from "../src/store";

export function body(name: string, change: Partial<PageBody> = {}): PageBody {
  return {
    name,
    figure: 0,
    root: false,
    world: false,
    noise_position: 0.003,
    noise_orientation: 0.01,
    masked: 0,
    ...change,
  };
}

export function joint(child: number, parent: number, change: Partial<PageJoint> = {}): PageJoint {
  return {
    child,
    parent,
    kind: "ball",
    point: "determined",
    p_child_joint: [0, 0, 0.1],
    p_parent_joint: [0.2, 0, 0],
    axis_child: null,
    axis_parent: null,
    play: null,
    residual: 0.008,
    frames: 100,
    place_95: [0.002, 0.001, 0.0008],
    half_width: 0.002,
    margin: 4,
    runner_up: null,
    support: 0.999,
    rivals: [],
    explained: 0.007,
    rotation: [0.3, 0.2, 0.1],
    verdict: "enough",
    advice: "",
    gap_step: 0.0001,
    p50: 0.007,
    p95: 0.013,
    largest: 0.02,
    ...change,
  };
}

export function motion(change: Partial<PageMotion> = {}): PageMotion {
  return {
    frames: 4,
    every: 1,
    rate: 10,
    timed: true,
    position_step: 0.001,
    orientation_step: 0.002,
    time_step: 0.0001,
    origin: [5, 0, 0],
    up: "z",
    low: [4, -1, 0],
    high: [6, 1, 2],
    free: [0, 2],
    breaks: [],
    starts: [0],
    pieces: [],
    ...change,
  };
}

export function page(change: Partial<PageData> = {}): PageData {
  return {
    format: FORMAT,
    version: VERSION,
    condyle: "0",
    title: "take",
    verdict: { text: "Found: 1 of 1 joint sure.", tone: "good", sure: 1, length_95: 0.01 },
    seconds: 0.4,
    frames: 4,
    bodies: [body("root", { root: true }), body("child"), body("thing", { figure: -1 })],
    joints: [joint(1, 0)],
    loops: [],
    connections: [],
    limbs: [],
    placements: [],
    findings: [],
    masked: [],
    made: [],
    motion: motion(),
    angles: null,
    chains: [],
    slips: [],
    recorded: [],
    turns: [],
    exports: [],
    ...change,
  };
}

/** What the reader looks at when the page opens. */
export function state(change: Partial<State> = {}): State {
  return {
    frame: 0,
    playing: false,
    speed: 1,
    body: null,
    link: null,
    view: "played",
    enlarged: 1,
    colour: "residual",
    follow: true,
    trails: false,
    labels: false,
    ...change,
  };
}
