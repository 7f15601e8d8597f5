import { at } from "../at";
import { contextOf, el, onResize, styleValue } from "../dom";
import { mm } from "../format";
import { type Model, selectLink } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";
import { columnsOf } from "./decimate";
import { topOf } from "./gap_plot";

/** The gaps of all joints at a glance, one small plot each, all with the same scales. */
export class Multiples {
  readonly element = el("div", { class: "multiples", role: "listbox", "aria-label": "Gap of every joint" });
  private readonly cells: {
    readonly canvas: HTMLCanvasElement;
    readonly head: HTMLElement;
    readonly cell: HTMLElement;
    readonly link: number;
  }[] = [];
  private readonly top: number;

  constructor(
    private readonly model: Model,
    private readonly motion: Motion,
    private readonly store: Store,
    links: readonly number[],
  ) {
    this.top = Math.max(0.001, ...links.map((link) => topOf(model.link(link).largest, model.link(link).p95)));
    for (const link of links) this.element.append(this.cell(link));
    const [first] = this.cells;
    if (first !== undefined) onResize(first.canvas, () => this.repaint());
    store.watch(["link"], (state) => {
      for (const { cell, link } of this.cells) cell.setAttribute("aria-selected", String(link === state.link));
    });
    store.watch(["frame"], (state) => {
      const share = motion.frames > 1 ? state.frame / (motion.frames - 1) : 0;
      this.element.style.setProperty("--head", String(share));
    });
    motion.onMore(() => this.repaint());
  }

  /** [mm] at the top of every small plot. */
  get scale(): number {
    return this.top;
  }

  repaint(): void {
    const scale = devicePixelRatio;
    const [ink, left] = [styleValue("--ink"), styleValue("--masked")];
    this.cells.forEach(({ canvas, link }) => {
      const width = Math.round(canvas.clientWidth * scale);
      const height = Math.round(canvas.clientHeight * scale);
      if (width === 0) return;
      canvas.width = width;
      canvas.height = height;
      const context = contextOf(canvas);
      const y = (metres: number): number => height - Math.min(1, (metres * 1000) / this.top) * (height - 1);
      const { motion } = this;
      const counted = columnsOf(motion.gap(link), width, motion.weight(link));
      const all = columnsOf(motion.gap(link), width);
      for (let c = 0; c < width; c++) {
        const low = at(counted.low, c);
        const high = at(counted.high, c);
        if (high >= low) {
          context.fillStyle = ink;
          context.fillRect(c, y(high), 1, Math.max(scale, y(low) - y(high)));
        } else if (motion.hasArrived(Math.floor((c * motion.frames) / width)) || at(all.high, c) >= 0) {
          context.fillStyle = left;
          context.fillRect(c, 0, 1, height);
        }
      }
    });
  }

  private cell(link: number): HTMLElement {
    const { model, store } = this;
    const joint = model.link(link);
    const canvas = el("canvas", { "aria-hidden": "true" });
    const head = el("i", { class: "head" });
    const cell = el(
      "button",
      { type: "button", class: "multiple", role: "option", title: model.linkName(link) },
      el("bdi", { class: "name", text: model.linkName(link) }),
      el("span", { class: "number" }, el("b", { text: mm(joint.residual) }), " mm"),
      el("span", { class: "strip" }, canvas, head),
    );
    cell.addEventListener("click", () => selectLink(store, model, link));
    this.cells.push({ canvas, head, cell, link });
    return cell;
  }
}
