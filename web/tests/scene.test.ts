import { Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { at } from "../src/at";
import { Model } from "../src/model";
import type { Motion } from "../src/motion/motion";
import type { Poses } from "../src/motion/unpack";
import { Aim } from "../src/scene/aim";
import type { Eye } from "../src/scene/camera";
import { captionsOf, picturesOf } from "../src/scene/pictures";
import { Room } from "../src/scene/room";
import { motion, page } from "./made";

const UP = new Vector3(0, 0, 1);
const model = new Model(page());
const POINTS = [0, 0, 0, 0, 0, 1, 2, 0, 0.5]; // m, of the three bodies

function room(): Room {
  return new Room(model, { page: motion(), pointsAt: () => [...POINTS] } as unknown as Motion, 0, UP);
}

describe("what is drawn beside each other", () => {
  const { played, measured } = room();

  it("is one copy, both in one picture, or one beside the other", () => {
    expect(picturesOf("played", played, measured).map(({ rigs }) => rigs)).toEqual([[played]]);
    expect(picturesOf("measured", played, measured).map(({ front }) => front)).toEqual([measured]);
    expect(picturesOf("ghost", played, measured).map(({ rigs }) => rigs)).toEqual([[played, measured]]);
    expect(picturesOf("side", played, measured).map(({ front }) => front)).toEqual([measured, played]);
  });
  it("is named, with how much larger a departure is drawn where the measured copy is in it", () => {
    const captions = captionsOf(picturesOf("side", played, measured), 10);
    expect(captions).toEqual(["measured, departure × 10", "played"]);
    expect(captionsOf(picturesOf("measured", played, measured), 1)).toEqual(["measured"]);
  });
  it("only the copy in front casts a shadow, and a copy that is not in the picture is hidden", () => {
    const seen = room();
    seen.show(at(picturesOf("ghost", seen.played, seen.measured), 0));
    expect(seen.rigs.map(({ group, shadows }) => [group.visible, shadows.visible])).toEqual([
      [true, true],
      [true, false],
    ]);
    seen.show(at(picturesOf("measured", seen.played, seen.measured), 0));
    expect(seen.rigs.map(({ group, shadows }) => [group.visible, shadows.visible])).toEqual([
      [false, false],
      [true, true],
    ]);
  });
});

describe("where the camera points", () => {
  /** Three bodies of one frame, all moved by `x` [m]. */
  function poses(x: number, known = 1): Poses {
    const p = Float32Array.from(POINTS, (value, i) => (i % 3 === 0 ? value + x : value));
    const q = Float32Array.from({ length: 12 }, (_, i) => (i % 4 === 0 ? 1 : 0));
    const seen = new Uint8Array(3).fill(known);
    const none = { time: new Float64Array(1), gap: new Float32Array(1), weight: new Uint8Array(1) };
    return { first: 0, frames: 1, ...none, seen, known: seen, p, q, playedP: p, playedQ: q };
  }

  it("it goes along with the bodies, from where a hand moved it, and stays where none is seen", () => {
    const seen = room();
    const target = new Vector3();
    const eye = {
      up: UP,
      controls: { target },
      frame: (middle: Vector3) => target.copy(middle),
      follow: (point: Vector3) => target.copy(point),
    } as unknown as Eye;
    const aim = new Aim(model, { pointsAt: () => [...POINTS] } as unknown as Motion, seen, eye);
    for (const rig of seen.rigs) rig.poses.read(poses(0), 0, 1);
    aim.set(0);
    expect(aim.isSet).toBe(true);
    expect(target.x).toBeCloseTo(1, 6); // the middle of 0 and 2, not the mean
    for (const rig of seen.rigs) rig.poses.read(poses(3), 0, 1);
    aim.follow(1);
    expect(target.x).toBeCloseTo(4, 6);
    target.x = 10;
    aim.keep();
    for (const rig of seen.rigs) rig.poses.read(poses(4), 0, 1);
    aim.follow(1);
    expect(target.x).toBeCloseTo(11, 6);
    for (const rig of seen.rigs) rig.poses.read(poses(50, 0), 0, 1);
    aim.follow(1);
    expect(target.x).toBeCloseTo(11, 6);
  });
});
