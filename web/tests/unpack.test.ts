import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { at } from "../src/at";
import { Model } from "../src/model";
import { Motion } from "../src/motion/motion";
import { multiply, quaternionOfVector, rotate, vectorOfQuaternion } from "../src/motion/quaternion";
import { fromBase64, inflate, unpack, unpackGroup } from "../src/motion/unpack";
import { motion, page } from "./made";
import { concat, packGroup } from "./pack";

const EXACT = 1e-6; // m, beyond float32 of a few metres

describe("a group of channels", () => {
  const channels = [
    [5, -7, 2 ** 30, -(2 ** 30)],
    [0, 1, -1, 2147483646],
  ];

  it.each([0, 1, 2])("comes back whole from differences of order %i, also where they wrap", (order) => {
    const raw = packGroup(channels, order);
    expect(Array.from(unpackGroup(raw, 0, 2, 4))).toEqual(channels.flat());
  });

  it("begins anywhere, since its head is one byte", () => {
    const raw = concat([new Uint8Array([9, 9, 9]), packGroup(channels, 1)]);
    expect(Array.from(unpackGroup(raw, 3, 2, 4))).toEqual(channels.flat());
  });
});

/** Two frames of the small page: the root turned a quarter about z, its child not; thing not known as played. */
function piece(): Uint8Array<ArrayBuffer> {
  const step = 0.002 / 2;
  const half = Math.round(Math.SQRT1_2 / step);
  const same = (value: number): number[] => [value, value];
  return concat([
    packGroup([[0, 1000]], 1), // time
    packGroup([same(1), [1, 0], same(1)], 0), // seen
    packGroup([same(1), same(1), same(0)], 0), // known
    packGroup([same(3), same(0), same(0)], 0), // largest: z of the root's quaternion
    packGroup([same(half), same(0), same(0), same(0), same(0), same(0), same(0), same(0), same(0)], 0), // w, x, y of the root
    packGroup([same(1000), same(0), same(0), same(0), same(0), same(0)], 2), // places of root and thing
    packGroup([same(0), same(0), same(0), [10, 0], same(0), same(0), same(500), same(0), same(0)], 1), // shift
    packGroup([same(0), same(0), same(0), same(0), same(0), [50, 0], same(0), same(0), same(0)], 1), // turn
    packGroup([[101, 0]], 1), // gap
    packGroup([[255, 0]], 1), // weight
  ]);
}

describe("a piece", () => {
  const model = new Model(page());
  const packing = { bodies: 3, motion: motion(), joints: model.data.joints, links: model.links };
  const poses = unpack(piece(), 0, 2, packing);

  it("tells times from where the recording began", () => {
    expect(Array.from(poses.time)).toEqual([0, 0.1]);
    const later = { ...packing, motion: motion({ breaks: [1], starts: [0, 7] }) };
    expect(Array.from(unpack(piece(), 0, 2, later).time)).toEqual([0, 7.1]);
  });

  it("places a child through its joint", () => {
    // the root at (1, 0, 0) from the origin, turned a quarter: its joint (0.2, 0, 0) points along y
    const expected = [1, 0.2, -0.1];
    expected.forEach((value, x) => expect(poses.playedP[3 + x]).toBeCloseTo(value, 3));
  });

  it("gives measured poses by what they differ from the played ones", () => {
    expect(at(poses.p, 3) - at(poses.playedP, 3)).toBeCloseTo(0.01, 6);
    expect(poses.q[4 + 3]).toBeCloseTo(Math.sin(0.05), 6);
    expect(poses.p[6]).toBeCloseTo(0.5, 6); // not known as played: from the origin
    expect(Array.from(poses.known.subarray(0, 3))).toEqual([1, 1, 0]);
    expect(Array.from(poses.seen.subarray(3, 6))).toEqual([1, 0, 1]);
  });

  it("has gaps in metres, none where nothing is known", () => {
    expect(poses.gap[0]).toBeCloseTo(0.01, 6);
    expect(poses.gap[1]).toBeNaN();
    expect(Array.from(poses.weight)).toEqual([255, 0]);
  });

  it("that is cut short is refused with its frame", () => {
    expect(() => unpack(piece().subarray(0, 100), 0, 2, packing)).toThrow("frame 0");
    expect(() => unpack(concat([piece(), new Uint8Array(1)]), 0, 2, packing)).toThrow("expected");
  });

  it("is inflated from base64", async () => {
    const text = Buffer.from(deflateRawSync(piece())).toString("base64");
    expect(await inflate(fromBase64(text))).toEqual(new Uint8Array(piece()));
  });
});

describe("a motion in pieces", () => {
  const pieces = [0, 2].map((first) => ({ first, frames: 2, data: "", url: `pieces/${first}.bin` }));
  const moved = motion({ pieces, breaks: [2], starts: [0, 1] });
  const data = page({ motion: moved });
  const packed = new Uint8Array(deflateRawSync(piece()));

  it("asks for what is needed and fills times and gaps as pieces arrive", async () => {
    const asked: number[] = [];
    const moving = new Motion(moved, new Model(data), async (number) => {
      asked.push(number);
      return packed;
    });
    expect(moving.poses(3)).toBeNull();
    await moving.loadAll();
    expect(asked.sort()).toEqual([0, 1]);
    expect(moving.progress).toBe(1);
    expect(Array.from(moving.time)).toEqual([0, 0.1, 1, 1.1]);
    expect(moving.gap(0)[2]).toBeCloseTo(0.01, 6);
    expect(moving.poses(3)?.first).toBe(2);
    expect(moving.frameAt(0.5)).toBe(1);
    expect(moving.frameAt(99)).toBe(3);
  });

  it("says what did not arrive, asks no second time, and goes on with the rest", async () => {
    let asked = 0;
    const broken = new Motion(moved, new Model(data), async (number) => {
      asked++;
      if (number === 0) throw new Error("piece 0 was not sent: 500");
      return packed;
    });
    await broken.loadAll();
    expect(broken.failure).toContain("500");
    expect(broken.poses(0)).toBeNull();
    expect(broken.poses(2)).not.toBeNull();
    expect(asked).toBe(2);
  });
});

describe("rotations", () => {
  it("by a vector and back", () => {
    const q = new Float32Array(4);
    const back = [0, 0, 0];
    for (const v of [
      [0.3, -0.2, 0.9],
      [0, 0, 0],
      [1e-10, 0, 0],
      [0, 3, 0],
    ] as const) {
      quaternionOfVector(v, q, 0);
      vectorOfQuaternion(q, 0, back);
      v.forEach((value, x) => expect(Math.abs(at(back, x) - value)).toBeLessThan(EXACT));
    }
  });

  it("one after the other are a product", () => {
    const [a, b, ab] = [new Float32Array(4), new Float32Array(4), new Float32Array(4)];
    quaternionOfVector([0, 0, Math.PI / 2], a, 0);
    quaternionOfVector([Math.PI / 2, 0, 0], b, 0);
    multiply(a, 0, b, 0, ab, 0);
    const out = [0, 0, 0];
    rotate(ab, 0, [0, 1, 0], out); // about x to z, and z stays
    expect(out[2]).toBeCloseTo(1, 6);
    rotate(ab, 0, [1, 0, 0], out); // x stays, then about z to y
    expect(out[1]).toBeCloseTo(1, 6);
  });
});
