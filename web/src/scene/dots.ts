import { BufferAttribute, BufferGeometry, Points, PointsMaterial } from "three";
import type { Colours } from "./colours";

/** [px] across a marker. */
const SIZE = 5;

/** Single markers, as dots of one size however far they are. */
export class Dots {
  readonly points = new Points(new BufferGeometry(), new PointsMaterial({ size: SIZE, sizeAttenuation: false }));

  constructor() {
    this.points.frustumCulled = false;
    this.points.visible = false;
  }

  paint(colours: Colours): void {
    this.points.material.color.copy(colours.measured);
  }

  /** x, y, z of every marker; those that are not seen are left out. */
  update(places: Float32Array): void {
    const seen = places.filter((_, i) => Number.isFinite(places[i - (i % 3)]));
    const { geometry } = this.points;
    const room = geometry.getAttribute("position");
    if (room instanceof BufferAttribute && room.array.length >= seen.length) {
      room.array.set(seen);
      room.needsUpdate = true;
    } else geometry.setAttribute("position", new BufferAttribute(seen, 3));
    geometry.setDrawRange(0, seen.length / 3);
    this.points.visible = seen.length > 0;
  }

  dispose(): void {
    this.points.geometry.dispose();
    this.points.material.dispose();
  }
}
