import { button, contextOf, el, onResize, styleValue } from "../dom";
import { clock, count } from "../format";
import type { Model } from "../model";
import type { Motion } from "../motion/motion";
import { SPEEDS } from "../player";
import { columnsOf } from "../plots/decimate";
import { marksOf } from "../plots/marks";
import { ramp } from "../scene/colours";
import type { Store } from "../store";
import { titleWithKeys } from "./keys";

/** Play, scrub and speed; the scrubber shows where joints come apart and where something was found. */
export class Transport {
  readonly element = el("div", { class: "transport", role: "group", "aria-label": "Play" });
  private readonly strip = el("canvas", { "aria-hidden": "true" });
  private readonly track = el("div", { class: "track" });
  private readonly worst: Float32Array;

  constructor(
    private readonly model: Model,
    private readonly motion: Motion,
    store: Store,
  ) {
    this.worst = new Float32Array(motion.frames);
    const play = button(
      "",
      titleWithKeys("Play or pause", "play"),
      () => store.set({ playing: !store.state.playing }),
      {
        class: "play",
      },
    );
    const range = el("input", {
      type: "range",
      min: 0,
      max: Math.max(0, motion.frames - 1),
      step: 1,
      value: 0,
      "aria-label": "Time",
    });
    const time = el("output", { class: "time" });
    const speed = el(
      "select",
      { "aria-label": "Speed", title: titleWithKeys("Speed", "slower", "faster") },
      ...SPEEDS.map((value) => el("option", { value, text: `${value}×` })),
    );
    range.addEventListener("input", () => store.set({ frame: Number(range.value), playing: false }));
    speed.addEventListener("change", () => store.set({ speed: Number(speed.value) }));
    this.track.append(this.strip, range);
    this.element.append(play, this.track, time, speed);
    store.watch(["playing"], (state) => {
      play.textContent = state.playing ? "❚❚" : "▶";
      play.setAttribute("aria-label", state.playing ? "Pause" : "Play");
      play.classList.toggle("pausing", state.playing);
    });
    store.watch(["speed"], (state) => (speed.value = String(state.speed)));
    store.watch(["frame"], (state) => {
      range.value = String(state.frame);
      const told = motion.page.timed
        ? clock(motion.timeAt(state.frame))
        : `frame ${count(state.frame * motion.page.every)}`;
      time.textContent = told;
      range.setAttribute("aria-valuetext", told);
    });
    onResize(this.track, () => this.repaint());
    motion.onMore(() => this.repaint());
  }

  /** The worst joint of every moment by colour, marks of findings above. */
  repaint(): void {
    const { motion, model, strip } = this;
    const scale = devicePixelRatio;
    const width = Math.round(strip.clientWidth * scale);
    const height = Math.round(strip.clientHeight * scale);
    if (width === 0 || motion.frames === 0) return;
    strip.width = width;
    strip.height = height;
    const context = contextOf(strip);
    this.worst.fill(NaN);
    model.data.joints.forEach((joint, j) => {
      const [gap, weight] = [motion.gap(j), motion.weight(j)];
      const usual = Math.max(joint.p95, 1e-9);
      for (let i = 0; i < motion.frames; i++) {
        const share = (gap[i] ?? NaN) / usual;
        if (weight[i] !== 0 && !((this.worst[i] ?? NaN) >= share)) this.worst[i] = share;
      }
    });
    columnsOf(this.worst, width).high.forEach((worst, c) => {
      if (Number.isNaN(worst)) return; // nothing counted there, or its piece has not arrived
      const tall = Math.min(1, worst / 4) * height * 0.75;
      context.fillStyle = `#${ramp((worst - 1.2) / 2.5).getHexString()}`;
      context.fillRect(c, height - scale - tall, 1, tall);
    });
    context.fillStyle = styleValue("--line");
    context.fillRect(0, height - scale, width, scale);
    context.fillStyle = styleValue("--muted");
    for (const first of motion.page.breaks)
      context.fillRect(Math.round((first / motion.frames) * width), 0, scale, height);
    context.fillStyle = styleValue("--warn");
    const length = Math.max(1e-9, motion.end - motion.start);
    for (const mark of marksOf(model, null)) {
      const x = ((motion.frameAt(mark.start) + 0.5) / motion.frames) * width;
      const wide = ((mark.end - mark.start) / length) * width;
      if (wide > 3 * scale) context.fillRect(x, 0, wide, 3 * scale);
      context.beginPath();
      context.moveTo(x - 5 * scale, 0);
      context.lineTo(x + 5 * scale, 0);
      context.lineTo(x, 8 * scale);
      context.fill();
    }
  }
}
