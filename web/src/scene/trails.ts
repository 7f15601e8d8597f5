import { Color, InstancedInterleavedBuffer, InterleavedBufferAttribute, Vector2 } from "three";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import type { MotionView } from "../motion/view";
import type { Role } from "./body_poses";

/** How far back a trail reaches [s], and into how many pieces it is cut. */
export const TRAIL_SECONDS = 1.5;
const PIECES = 60;

/** Where bodies came from: lines that fade into the paper. */
export class Trails {
  readonly lines: LineSegments2;
  private readonly places: Float32Array;
  private readonly colours: Float32Array;
  private readonly material = new LineMaterial({
    vertexColors: true,
    linewidth: 2,
    transparent: true,
    depthWrite: false,
  });
  private readonly colour = new Color();

  constructor(
    private readonly motion: MotionView,
    private readonly bodies: number,
  ) {
    const segments = bodies * PIECES;
    this.places = new Float32Array(segments * 6);
    this.colours = new Float32Array(segments * 6);
    const geometry = new LineSegmentsGeometry();
    const places = new InstancedInterleavedBuffer(this.places, 6, 1);
    geometry.setAttribute("instanceStart", new InterleavedBufferAttribute(places, 3, 0));
    geometry.setAttribute("instanceEnd", new InterleavedBufferAttribute(places, 3, 3));
    const colours = new InstancedInterleavedBuffer(this.colours, 6, 1);
    geometry.setAttribute("instanceColorStart", new InterleavedBufferAttribute(colours, 3, 0));
    geometry.setAttribute("instanceColorEnd", new InterleavedBufferAttribute(colours, 3, 3));
    this.lines = new LineSegments2(geometry, this.material);
    this.lines.frustumCulled = false;
    this.lines.renderOrder = -1;
  }

  resize(width: number, height: number): void {
    this.material.resolution = new Vector2(width, height);
  }

  /** Writes the trails that end at `frame`; of the chosen bodies only. */
  update(
    frame: number,
    role: Role,
    chosen: (body: number) => boolean,
    paint: (body: number) => Color,
    paper: Color,
  ): void {
    const { motion } = this;
    const reach = Math.max(1, Math.round(TRAIL_SECONDS * (motion.page.rate || 1)));
    const stride = Math.max(1, Math.ceil(reach / PIECES));
    const recording = motion.page.breaks.filter((b) => b <= frame).at(-1) ?? 0;
    let n = 0;
    for (let i = 0; i < PIECES; i++) {
      const to = frame - i * stride;
      const from = to - stride;
      if (from < recording) break;
      const a = motion.poses(from);
      const b = motion.poses(to);
      if (a === null || b === null) break;
      for (let body = 0; body < this.bodies; body++) {
        if (!chosen(body)) continue;
        const ka = (from - a.first) * this.bodies + body;
        const kb = (to - b.first) * this.bodies + body;
        const shows = role === "measured" ? a.seen[ka] && b.seen[kb] : a.known[ka] && b.known[kb];
        if (!shows) continue;
        const [pa, pb] = role === "measured" ? [a.p, b.p] : [a.playedP, b.playedP];
        for (let x = 0; x < 3; x++) {
          this.places[n * 6 + x] = pa[ka * 3 + x] ?? NaN;
          this.places[n * 6 + 3 + x] = pb[kb * 3 + x] ?? NaN;
        }
        const colour = paint(body);
        this.colour
          .copy(colour)
          .lerp(paper, (i + 1) / PIECES)
          .toArray(this.colours, n * 6);
        this.colour
          .copy(colour)
          .lerp(paper, i / PIECES)
          .toArray(this.colours, n * 6 + 3);
        n++;
      }
    }
    const { geometry } = this.lines;
    geometry.instanceCount = n;
    for (const name of ["instanceStart", "instanceColorStart"]) {
      (geometry.getAttribute(name) as InterleavedBufferAttribute).data.needsUpdate = true;
    }
  }
}
