import { Matrix4, Quaternion, Vector3 } from "three";
import { multiply, quaternionOfVector, rotate, vectorOfQuaternion } from "../motion/quaternion";
import type { Poses } from "../motion/unpack";
import type { Vector } from "../vector";

export type Role = "played" | "measured";

/** Where the bodies of one copy of the figure are in one frame; written anew for each, nothing is made. */
export class BodyPoses {
  readonly p: Float32Array;
  readonly q: Float32Array;
  readonly shows: Uint8Array;
  readonly matrices: readonly Matrix4[];
  private readonly place = new Vector3();
  private readonly turn = new Quaternion();
  private readonly one = new Vector3(1, 1, 1);
  private readonly vector: [number, number, number] = [0, 0, 0];
  private readonly relative = new Float32Array(4);
  private readonly inverse = new Float32Array(4);

  constructor(
    readonly bodies: number,
    readonly role: Role,
  ) {
    this.p = new Float32Array(bodies * 3);
    this.q = new Float32Array(bodies * 4);
    this.shows = new Uint8Array(bodies);
    this.matrices = Array.from({ length: bodies }, () => new Matrix4());
  }

  /** Frame `k` of a piece. The measured copy's departure from the played one is drawn `enlarged` times. */
  read(poses: Poses, k: number, enlarged: number): void {
    const m = this.bodies;
    const measured = this.role === "measured";
    this.matrices.forEach((matrix, b) => {
      const i = k * m + b;
      this.shows[b] = (measured ? poses.seen[i] : poses.known[i]) ?? 0;
      if (measured && enlarged !== 1 && poses.known[i] && poses.seen[i]) this.depart(poses, i, b, enlarged);
      else {
        const [p, q] = measured ? [poses.p, poses.q] : [poses.playedP, poses.playedQ];
        for (let x = 0; x < 3; x++) this.p[b * 3 + x] = p[i * 3 + x] ?? NaN;
        for (let x = 0; x < 4; x++) this.q[b * 4 + x] = q[i * 4 + x] ?? NaN;
      }
      this.place.fromArray(this.p, b * 3);
      const o = b * 4;
      this.turn.set(this.q[o + 1] ?? NaN, this.q[o + 2] ?? NaN, this.q[o + 3] ?? NaN, this.q[o] ?? NaN);
      matrix.compose(this.place, this.turn, this.one);
    });
  }

  /** A point of a body in the world. */
  point(body: number, local: Vector, out: Float32Array | number[], to = 0): void {
    rotate(this.q, body * 4, local, out, to);
    for (let x = 0; x < 3; x++) out[to + x] = (out[to + x] ?? NaN) + (this.p[body * 3 + x] ?? NaN);
  }

  private depart(poses: Poses, i: number, b: number, enlarged: number): void {
    for (let x = 0; x < 3; x++) {
      const played = poses.playedP[i * 3 + x] ?? NaN;
      this.p[b * 3 + x] = played + enlarged * ((poses.p[i * 3 + x] ?? NaN) - played);
    }
    this.inverse[0] = poses.playedQ[i * 4] ?? NaN;
    for (let x = 1; x < 4; x++) this.inverse[x] = -(poses.playedQ[i * 4 + x] ?? NaN);
    multiply(this.inverse, 0, poses.q, i * 4, this.relative, 0);
    vectorOfQuaternion(this.relative, 0, this.vector);
    const angle = Math.hypot(...this.vector);
    const scale = angle * enlarged > 3 ? 3 / angle : enlarged; // never beyond half a turn
    this.vector[0] *= scale;
    this.vector[1] *= scale;
    this.vector[2] *= scale;
    quaternionOfVector(this.vector, this.relative, 0);
    multiply(poses.playedQ, i * 4, this.relative, 0, this.q, b * 4);
  }
}
