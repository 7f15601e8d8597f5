import { Color } from "three";
import { at } from "../at";
import { roundEnd } from "../format";
import type { Model } from "../model";
import type { MotionView } from "../motion/view";
import { median } from "../quantile";
import type { Colour, Store } from "../store";
import { type Colours, ramp } from "./colours";
import type { Paint } from "./rig";

/** [m] at which the scale of residuals ends. */
export function scaleEnd(model: Model, colour: Colour): number {
  const sizes = model.links.map((link) => (colour === "gap" ? link.p95 : link.residual)).filter(Number.isFinite);
  if (sizes.length === 0) return 1;
  // Joints that are all alike are not all dark: the usual one lies well below the end.
  return roundEnd(Math.max(1e-9, ...sizes, 2.5 * median(sizes)));
}

/** Colours of links and bodies at the moment that the store tells. */
export function makePaint(model: Model, motion: MotionView, store: Store, colours: Colours): Paint {
  const colour = new Color();
  const ends = { residual: scaleEnd(model, "residual"), gap: scaleEnd(model, "gap"), figure: 1 };
  const spans = model.data.joints.map((_, j) => model.data.connections.filter((connection) => connection.joint === j));
  const figureOf = (body: number): Color => {
    const { figure } = model.body(body);
    return figure < 0 ? colours.sensor : at(colours.figures, figure % colours.figures.length);
  };
  const several = new Set(model.bodies.map((body) => body.figure).filter((figure) => figure >= 0)).size > 1;
  return {
    colours,
    get departs() {
      return store.state.view === "ghost" || store.state.view === "side";
    },
    get selectedBody() {
      return store.state.body;
    },
    get selectedLink() {
      return store.state.link;
    },
    body: (body) => (several || store.state.colour === "figure" ? figureOf(body) : colours.bone),
    link(link) {
      const { state } = store;
      const joint = model.link(link);
      if (state.colour === "figure") return figureOf(joint.child);
      const value = state.colour === "gap" ? at(motion.gap(link), state.frame) : joint.residual;
      return Number.isFinite(value) ? ramp(value / ends[state.colour], colour) : colours.sensor;
    },
    slipped(slip) {
      const { start, end } = at(model.data.slips, slip);
      const time = motion.timeAt(store.state.frame);
      return start <= time && time <= end;
    },
    holds(link) {
      if (model.isLoop(link)) return at(motion.weight(link), store.state.frame) > 0;
      const held = at(spans, link);
      if (held.length === 0) return true;
      const time = motion.timeAt(store.state.frame);
      return held.some((span) => span.start <= time && time <= span.end);
    },
  };
}
