import { button, contextOf, el } from "../dom";
import { mm } from "../format";
import type { Model } from "../model";
import { ramp } from "../scene/colours";
import { scaleEnd } from "../scene/paint";
import { HALO_TIMES } from "../scene/shape";
import type { Stage } from "../scene/stage";
import type { Colour, Store } from "../store";
import { COLOURS, ENLARGED, VIEWS } from "./choices";
import { titleWithKeys } from "./keys";

/** Buttons of the scene. */
export function sceneControls(model: Model, store: Store, stage: Stage): HTMLElement {
  const found = model.links.length > 0;
  const views = el("div", { class: "segmented", role: "group", "aria-label": "What is drawn" });
  for (const { view, label, about } of VIEWS) {
    const press = button(label, titleWithKeys(about, view), () => store.set({ view }));
    store.watch(["view"], (state) => press.setAttribute("aria-pressed", String(state.view === view)));
    views.append(press);
  }
  const enlarged = el(
    "select",
    {
      title: titleWithKeys("How much larger the measured figure's departure from the played one is drawn", "enlarged"),
    },
    ...ENLARGED.map((value) => el("option", { value, text: `× ${value}` })),
  );
  enlarged.addEventListener("change", () => store.set({ enlarged: Number(enlarged.value) }));
  const departs = el("label", { class: "pick" }, "departure ", enlarged);
  store.watch(["enlarged", "view"], (state) => {
    enlarged.value = String(state.enlarged);
    departs.hidden = state.view === "played" || !found;
  });
  const colour = el(
    "select",
    { title: titleWithKeys("What colours tell", "colour") },
    ...COLOURS.map((choice) => el("option", { value: choice.colour, text: choice.label })),
  );
  colour.addEventListener("change", () => store.set({ colour: colour.value as Colour }));
  store.watch(["colour"], (state) => (colour.value = state.colour));
  const toggle = (key: "follow" | "trails" | "labels", label: string, title: string): HTMLElement => {
    const change = (): void => store.set({ [key]: !store.state[key] });
    const press = button(label, titleWithKeys(title, key), change, { class: "toggle" });
    store.watch([key], (state) => press.setAttribute("aria-pressed", String(state[key])));
    return press;
  };
  const more = el(
    "div",
    { class: "more" },
    departs,
    model.links.length ? el("label", { class: "pick" }, "colour ", colour) : null,
    toggle("labels", "Names", "Names of all bodies"),
    toggle("trails", "Trails", "Where bodies came from"),
  );
  stage.element.append(
    el(
      "div",
      { class: "camera more" },
      toggle("follow", "Follow", "The camera goes along"),
      button("Reset", titleWithKeys("The view as it was at first", "reset"), () => stage.resetView()),
    ),
  );
  return el(
    "div",
    { class: "scene-controls", role: "toolbar", "aria-label": "Scene" },
    found ? views : el("span"),
    more,
  );
}

/** What colours and sizes in the scene stand for. */
export function sceneLegend(model: Model, store: Store, stage: Stage): { element: HTMLElement; repaint: () => void } {
  const bar = el("canvas", { width: 96, height: 8, "aria-hidden": "true" });
  const end = el("span");
  const scale = el("span", { class: "scale" }, "0 ", bar, " ", end);
  const what = el("span");
  const coloured = el("span", { class: "item" }, what, scale);
  const step = stage.gridStep;
  const floor = el("span", {
    class: "item",
    text: `grid ${step >= 1 ? `${step} m` : `${Number((step * 100).toPrecision(3))} cm`}`,
  });
  const guessed =
    stage.motion.page.up === null
      ? el("span", { class: "item", text: `${stage.upAxis} drawn upwards: the recording does not say` })
      : null;
  const { halos, halosCut } = stage.shape;
  const halo = halos.some((radius) => radius > 0)
    ? el("span", {
        class: "item",
        text: `halo around a joint: 95 % of its place × ${HALO_TIMES}${halosCut ? ", the largest cut" : ""}`,
      })
    : null;
  const slip = model.data.slips.length
    ? el("span", { class: "item slip-key", text: "■ where a sensor sat after it slipped" })
    : null;
  const repaint = (): void => {
    const context = contextOf(bar);
    for (let x = 0; x < bar.width; x++) {
      context.fillStyle = `#${ramp(x / (bar.width - 1)).getHexString()}`;
      context.fillRect(x, 0, 1, bar.height);
    }
  };
  store.watch(["colour"], (state) => {
    coloured.hidden = state.colour === "figure" || model.links.length === 0;
    what.textContent = state.colour === "gap" ? "gap at this moment " : "rms gap ";
    end.textContent = `${mm(scaleEnd(model, state.colour))} mm`.replace(".0 ", " ");
  });
  const element = el("p", { class: "scene-legend quiet" }, coloured, halo, slip, floor, guessed);
  repaint();
  return { element, repaint };
}
