import { Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { emptyPage } from "../src/live/empty";
import type { Status } from "../src/live/messages";
import { LiveMotion } from "../src/live/motion";
import { describeTrouble } from "../src/live/page";
import { streamUrl } from "../src/live/stream";
import { isLive } from "../src/load";
import { Model } from "../src/model";
import { rotate } from "../src/motion/quaternion";
import { Room } from "../src/scene/room";
import { page } from "./made";

const ROOM = { up: "z", low: [0, 0, 0], high: [1, 1, 1] } as const;

/** Poses of all bodies but the last, in another order than the page has them; turned a quarter about z. */
function frame(model: Model, names: readonly string[]): Float32Array {
  const half = Math.SQRT1_2;
  return Float32Array.from(
    names.flatMap((name) => {
      const b = model.bodies.findIndex((body) => body.name === name);
      return [b + 0.5, 2 * b, 1, half, 0, 0, half];
    }),
  );
}

describe("what comes in", () => {
  const model = new Model(page());
  const names = [...model.bodies.map((body) => body.name)].reverse().slice(1);

  it("finds its bodies by name, and shows those that do not come as not seen", () => {
    const motion = new LiveMotion(model, names, ROOM);
    motion.write(1, 12.5, frame(model, names));
    const poses = motion.poses();
    const m = model.bodies.length;
    model.bodies.forEach((body, b) => {
      expect(poses.seen[m + b]).toBe(names.includes(body.name) ? 1 : 0);
      if (names.includes(body.name)) expect(poses.p[(m + b) * 3]).toBeCloseTo(b + 0.5, 6);
    });
    expect(motion.timeAt(1)).toBe(12.5);
    expect(motion.pointsAt(1)).toHaveLength(3 * names.length);
  });

  it("takes markers from behind the bodies, and points at those that are seen", () => {
    const motion = new LiveMotion(model, names, ROOM);
    motion.write(0, 0, Float32Array.from([...frame(model, names), 1, 2, 3, NaN, NaN, NaN]));
    expect([...motion.markersAt(0).subarray(0, 3)]).toEqual([1, 2, 3]);
    expect(motion.markersAt(0)).toHaveLength(6);
    expect(motion.pointsAt(0)).toHaveLength(3 * (names.length + 1));
  });

  it("points at markers before there is any body", () => {
    const motion = new LiveMotion(new Model(emptyPage([])), [], ROOM);
    motion.write(0, 0, Float32Array.from([0, 0, 0, 1, 0, 0]));
    motion.write(1, 0, Float32Array.from([0, 0, 0, 1, 0, 0]));
    expect(motion.pointsAt(1)).toEqual([0, 0, 0, 1, 0, 0]);
    const room = new Room(motion.page && new Model(emptyPage([])), motion, 1, new Vector3(0, 0, 1));
    expect(room.shape.size).toBeGreaterThan(0);
  });

  it("puts the figure together at its joints", () => {
    const all = model.bodies.map((body) => body.name);
    const motion = new LiveMotion(model, all, ROOM);
    motion.write(0, 0, frame(model, all));
    const { playedP, playedQ } = motion.poses();
    for (const joint of model.data.joints) {
      const sides = [
        [joint.child, joint.p_child_joint],
        [joint.parent, joint.p_parent_joint],
      ] as const;
      const [a, b] = sides.map(([body, point]) => {
        const out: [number, number, number] = [0, 0, 0];
        rotate(playedQ, body * 4, point, out);
        return out.map((value, x) => value + (playedP[body * 3 + x] ?? NaN));
      });
      a?.forEach((value, x) => expect(value).toBeCloseTo(b?.[x] ?? NaN, 5));
    }
  });

  it("is streamed from beside the page", () => {
    expect(streamUrl({ protocol: "http:", host: "127.0.0.1:80", pathname: "/word/" })).toBe(
      "ws://127.0.0.1:80/word/stream",
    );
    expect(isLive('{"format":"condyle.live","version":1}')).toBe(true);
    expect(isLive('{"format":"condyle.page"}')).toBe(false);
  });
});

describe("the banner", () => {
  const well = { fault: "", trouble: "", lost: 0, given_up: false, behind: 1.2 } as Status;

  it("is empty while all is well, and tells a lag in seconds", () => {
    expect(describeTrouble(well, false)).toBe("");
    expect(describeTrouble({ ...well, behind: 9.25 }, false)).toBe("Behind by 9.3 s.");
  });

  it("tells a solver that was started again, and the lag with it", () => {
    expect(describeTrouble({ ...well, behind: 12 }, true)).toBe(
      "The solver died and was started again. The recording is whole. Behind by 12.0 s.",
    );
  });

  it("tells first what is not recorded", () => {
    expect(describeTrouble({ ...well, lost: 7, fault: "no space" }, true)).toBe("Not recorded: 7 frames. no space");
  });

  it("does not call a recording whole that lacks frames", () => {
    expect(describeTrouble({ ...well, lost: 1 }, true)).toBe(
      "The solver died and was started again. Not in the recording: 1 frame.",
    );
  });

  it("does not take trouble with showing for trouble with recording", () => {
    expect(describeTrouble({ ...well, trouble: "no such bone" }, false)).toBe(
      "The page or a mark had trouble: no such bone. The recording goes on.",
    );
  });
});
