import uPlot from "uplot";
import { at, last } from "../at";
import type { PageJoint } from "../data";
import { el, onResize, styleValue } from "../dom";
import { clock, fixed, mm, roundUp } from "../format";
import type { Model } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";
import { histogram, stretches } from "./decimate";
import { HistogramView } from "./histogram";
import { type Mark, marksOf } from "./marks";

/** The gap of the selected joint over time, as in the paper's figures 6 to 8, with its histogram beside it. */
export class GapPlot {
  readonly element = el("div", { class: "gap-plot" });
  private readonly chart = el("div", { class: "chart" });
  private readonly heading = el("div", { class: "plot-head" });
  private readonly playhead = el("i", { class: "playhead" });
  private readonly histogram = new HistogramView();
  private plot: uPlot | null = null;
  private x: number[] = [];
  private marks: Mark[] = [];
  private skipped: [number, number][] = [];
  private top = 1;

  constructor(
    private readonly model: Model,
    private readonly motion: Motion,
    private readonly store: Store,
  ) {
    const row = el("div", { class: "plot-row" }, this.chart, this.histogram.element);
    this.element.append(this.heading, row, this.legend());
    onResize(this.chart, () => this.fit());
    store.watch(["link"], () => this.load());
    store.watch(["frame"], () => this.cursor());
    motion.onMore(() => this.load());
  }

  /** After a change of theme. */
  repaint(): void {
    this.load();
  }

  private load(): void {
    const { model, motion, store } = this;
    const link = store.state.link ?? model.worst;
    this.plot?.destroy();
    this.plot = null;
    if (link === null) return;
    const joint = model.link(link);
    const gap = motion.gap(link);
    const weight = motion.weight(link);
    const counted = Array.from(gap, (value, i) => (weight[i] !== 0 && !Number.isNaN(value) ? value * 1000 : null));
    const left = Array.from(gap, (value, i) => (weight[i] === 0 && !Number.isNaN(value) ? value * 1000 : null));
    this.x = axisOf(motion);
    const before = beforeRepair(model.recorded(link), motion.frames);
    const highest = before.reduce((most: number, value) => Math.max(most, value ?? 0), 0);
    this.top = Math.max(topOf(joint.largest, joint.p95), highest > 0 ? topOf(highest / 1000, highest / 1000) : 0);
    this.marks = marksOf(model, [joint.child, joint.parent]);
    this.skipped = stretches(motion.frames, (i) => weight[i] === 0 && motion.hasArrived(i));
    this.histogram.show(histogram(gap, weight, this.top / 1000, 36), this.top, [
      { value: joint.p50 * 1000, name: "median" },
      { value: joint.p95 * 1000, name: "95 %" },
    ]);
    this.head(model.linkName(link), joint);
    this.plot = new uPlot(this.options(), [this.x, before, counted, left], this.chart);
    this.fit();
  }

  private head(name: string, joint: PageJoint): void {
    const fact = (label: string, value: string): HTMLElement =>
      el("span", { class: "fact" }, el("b", { text: value }), ` ${label}`);
    this.heading.replaceChildren(
      el("h3", {}, el("bdi", { text: name })),
      el("span", { class: "quiet" }, `${joint.kind} joint on `, el("bdi", { text: this.model.name(joint.parent) })),
      fact("mm rms", mm(joint.residual)),
      fact("mm median", mm(joint.p50)),
      fact("mm 95 %", mm(joint.p95)),
      fact("mm largest", mm(joint.largest)),
    );
  }

  private options(): uPlot.Options {
    const ink = styleValue("--muted");
    const line = styleValue("--line");
    const { store } = this;
    const font = `${Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.8)}px ${styleValue("--sans")}`;
    const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
    return {
      width: Math.max(100, this.chart.clientWidth),
      height: Math.max(120, this.chart.clientHeight),
      legend: { show: false },
      padding: [10, 8, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: [0, this.top] } },
      axes: [
        { ...axis, size: 28, values: (_, splits) => splits.map((v) => this.tick(v)) },
        {
          ...axis,
          size: 44,
          values: (_, splits, __, ___, step) => splits.map((v) => fixed(v, step % 1 === 0 ? 0 : step < 0.1 ? 3 : 1)),
        },
      ],
      series: [
        {},
        { stroke: styleValue("--before"), width: 1.1, points: { show: false }, spanGaps: false },
        { stroke: styleValue("--ink"), width: 1.1, points: { show: false }, spanGaps: false },
        { stroke: styleValue("--masked-line"), width: 1.1, points: { show: false }, spanGaps: false },
      ],
      hooks: {
        drawClear: [(plot) => this.drawMarks(plot)],
        setScale: [() => this.cursor()],
        ready: [
          (plot) => {
            let down = 0;
            plot.over.append(this.playhead);
            plot.over.addEventListener("mousedown", (event) => (down = event.clientX));
            const scrub = (event: MouseEvent): void => {
              if (Math.abs(event.clientX - down) > 4) return; // that was a drag: it zooms
              const box = plot.over.getBoundingClientRect();
              store.set({ frame: this.frameOf(plot.posToVal(event.clientX - box.left, "x")) });
            };
            plot.over.addEventListener("click", scrub);
          },
        ],
      },
    };
  }

  private atX(seconds: number): number {
    return at(this.x, this.motion.frameAt(seconds));
  }

  /** The frame at or before a place on the axis. */
  private frameOf(value: number): number {
    let [low, high] = [0, this.x.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (at(this.x, middle) <= value) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** What stands at a place on the axis: the moment on the take's own clock, or a frame where there is no time. */
  private tick(value: number): string {
    const { motion } = this;
    if (!motion.page.timed) return String(value);
    const paused = motion.page.breaks.length > 0 && last(this.x) < motion.end - 1;
    const time = paused ? motion.timeAt(this.frameOf(value)) : value;
    return clock(time, !paused && value % 1 ? 1 : 0);
  }

  /** Masked stretches as bands, swaps as bands with edges, slips as lines with a flag. */
  private drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const scale = devicePixelRatio;
    const place = (x: number): number =>
      Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(x, "x", true)));
    ctx.save();
    ctx.fillStyle = styleValue("--masked");
    for (const [begin, end] of this.skipped) {
      const from = place(at(this.x, begin));
      ctx.fillRect(from, bbox.top, Math.max(scale, place(at(this.x, end)) - from), bbox.height);
    }
    ctx.fillStyle = styleValue("--muted");
    for (const frame of this.motion.page.breaks) {
      const x = Math.round(place(at(this.x, frame)));
      for (let y = bbox.top; y < bbox.top + bbox.height; y += 8 * scale) ctx.fillRect(x, y, scale, 4 * scale);
    }
    for (const mark of this.marks) {
      const from = place(this.atX(mark.start));
      const to = place(this.atX(mark.end));
      if (mark.kind === "masked") continue;
      ctx.fillStyle = styleValue("--mark-band");
      ctx.fillRect(from, bbox.top, Math.max(0, to - from), bbox.height);
      ctx.fillStyle = styleValue("--warn");
      const edges = mark.kind === "slip" || to - from < 3 * scale ? [from] : [from, to];
      for (const edge of edges) ctx.fillRect(edge - scale, bbox.top, 2 * scale, bbox.height);
      ctx.font = `600 ${Math.round(11 * scale)}px ${styleValue("--sans")}`;
      const width = ctx.measureText(mark.name).width + 8 * scale;
      const left = Math.min(from, bbox.left + bbox.width - width);
      ctx.fillRect(left, bbox.top, width, 16 * scale);
      ctx.fillStyle = styleValue("--paper");
      ctx.textBaseline = "middle";
      ctx.fillText(mark.name, left + 4 * scale, bbox.top + 8 * scale);
    }
    ctx.restore();
  }

  /** The playhead is an element of its own: moving it draws nothing anew. */
  private cursor(): void {
    const { plot } = this;
    if (plot === null || this.x.length === 0) return;
    const x = plot.valToPos(at(this.x, this.store.state.frame), "x");
    this.playhead.hidden = !(x >= 0 && x <= plot.bbox.width / devicePixelRatio);
    this.playhead.style.transform = `translateX(${x}px)`;
  }

  private fit(): void {
    const { clientWidth: width, clientHeight: height } = this.chart;
    if (this.plot === null || width === 0) return;
    this.plot.setSize({ width, height });
    this.cursor();
    const scale = devicePixelRatio;
    this.histogram.fit(this.plot.bbox.top / scale, this.plot.bbox.height / scale);
  }

  private legend(): HTMLElement {
    const item = (name: string, text: string): HTMLElement => el("span", { class: `key ${name}` }, el("i"), text);
    return el(
      "p",
      { class: "plot-legend quiet" },
      item("counted", "gap [mm]"),
      this.model.data.recorded.length ? item("before", "before the sensor was moved back") : null,
      item("left-out", "weighted out"),
      item("not-seen", "not counted"),
      item("marked", "slip, swap or finding"),
      this.motion.page.breaks.length ? item("break", "a new recording") : null,
      el("span", { text: "Click to go there, drag to zoom, double click to see all." }),
    );
  }
}

/** [mm] for every shown frame from a series that may be thinner; null where nothing was repaired. */
export function beforeRepair(recorded: Float32Array | null, frames: number): (number | null)[] {
  const step = recorded === null || frames < 2 ? 0 : (recorded.length - 1) / (frames - 1);
  return Array.from({ length: frames }, (_, i) => {
    const value = recorded?.[Math.round(i * step)] ?? 0;
    return value > 0 ? value * 1000 : null;
  });
}

/** Places of frames along the axis: seconds without the pauses between recordings, or frames where there is no time. */
export function axisOf(motion: Pick<Motion, "frames" | "timeAt" | "page">): number[] {
  const breaks = new Set(motion.page.breaks);
  const step = 1 / (motion.page.rate || 1);
  let pauses = 0;
  return Array.from({ length: motion.frames }, (_, i) => {
    if (!motion.page.timed) return i;
    if (breaks.has(i)) {
      const pause = motion.timeAt(i) - motion.timeAt(i - 1) - step;
      if (pause > 1) pauses += pause;
    }
    return motion.timeAt(i) - pauses;
  });
}

/** [mm] where the axis ends: round, above nearly all; a few far spikes may be cut. */
export function topOf(largest: number, p95: number): number {
  const wanted = Math.min(largest * 1000 * 1.04, Math.max(p95 * 1000 * 4, 1e-6));
  const step = roundUp(wanted / 10);
  return Math.max(step, Math.ceil(wanted / step) * step);
}
