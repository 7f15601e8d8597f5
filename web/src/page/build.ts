import { NEEDED_TURN_DEG } from "../data";
import { button, el } from "../dom";
import type { Model } from "../model";
import type { Motion } from "../motion/motion";
import { makePlayer } from "../player";
import { GapPlot } from "../plots/gap_plot";
import { Multiples } from "../plots/multiples";
import { timeline } from "../plots/timeline";
import { Stage } from "../scene/stage";
import type { Store } from "../store";
import { jointTable, limbTable, loopTable, placementTable } from "../tables/tables";
import { treeDiagram } from "../tree/diagram";
import { anglesPart } from "./angles";
import { axesPart } from "./axes";
import { bodyMap } from "./body_map";
import { sceneControls, sceneLegend } from "./controls";
import { findingsPart } from "./findings";
import { listenToKeys } from "./keyboard";
import { titleWithKeys } from "./keys";
import { keysDialog } from "./keys_dialog";
import { madePart } from "./made";
import { followPlace } from "./place";
import { waitToPrint } from "./print";
import { saveDialog } from "./save";
import { selectionPart } from "./selection";
import { Theme } from "./theme";
import { Transport } from "./transport";
import { turnsPart } from "./turns";
import { verdictPart } from "./verdict";

/** Loops up to which all are shown at once; stances of feet may be dozens. */
const FEW = 12;

/** The whole page: a first screen to be read from afar, and what it rests on below. */
export function buildPage(model: Model, motion: Motion | null, store: Store): HTMLElement[] {
  const theme = new Theme();
  const dialog = keysDialog();
  const paper = waitToPrint(motion);
  const figure = figurePart(model, motion, store, theme);
  listenToKeys({ model, store, motion, stage: figure.stage, theme, dialog });
  const main = el(
    "main",
    {},
    paper.note,
    el(
      "div",
      { class: "first" },
      verdictPart(model, store),
      figure.element,
      el("aside", { class: "beside" }, findingsPart(model, motion, store), selectionPart(model, motion, store)),
    ),
  );
  const { angles } = model.data;
  if (motion && angles)
    main.append(
      section(
        "angles",
        "Angles",
        `${angles.title}. Offsets depend on how frames are defined; ranges of flexion do not.`,
        anglesPart(angles, model, motion, store, theme),
      ),
    );
  if (model.data.chains.length)
    main.append(
      section(
        "axes",
        "Axes",
        "How the axes of the machine lie to each other, and the tables that go into its model.",
        axesPart(model, store),
      ),
    );
  if (motion && model.links.length) main.append(residuals(model, motion, store, theme));
  if (model.data.turns.length)
    main.append(
      section(
        "motion",
        "What moved",
        `How far each body turned against the one that it turned most against; a joint is located where two turn by ${NEEDED_TURN_DEG}° (rms) or more, about two axes.`,
        turnsPart(model, store),
      ),
    );
  if (model.data.limbs.length) main.append(lengths(model, motion, store, theme));
  main.append(
    section(
      "tree",
      "Tree",
      "The number on an edge is its support: how sure it is at least that these two bodies are joined, and not others.",
      treeDiagram(model, store),
    ),
  );
  const tables = el("div", { class: "tables" });
  if (model.data.joints.length) tables.append(jointTable(model, store));
  if (model.data.loops.length) tables.append(loopTable(model, store));
  if (model.data.placements.length) tables.append(placementTable(model, store));
  if (tables.childElementCount) main.append(section("tables", "Tables", "", tables));
  main.append(section("made", "How it was made", "", madePart(model)));
  const parts = [header(model, theme, dialog, () => save.showModal(), paper.print), main, footer(model), dialog];
  const save = saveDialog(model, motion, [...main.querySelectorAll<HTMLElement>(".data-table")]);
  followPlace(model, motion, store);
  return [...parts, save];
}

/** Lengths: the figure with its limbs by colour, and the table beside it. */
function lengths(model: Model, motion: Motion | null, store: Store, theme: Theme): HTMLElement {
  const table = limbTable(model, store);
  const map = motion === null ? null : bodyMap(model, motion, store, theme);
  const content = map === null ? table : el("div", { class: "with-map" }, map, table);
  return section("lengths", "Lengths", "Limbs between their joints, each with its 95 % interval.", content);
}

function header(
  model: Model,
  theme: Theme,
  dialog: HTMLDialogElement,
  save: () => void,
  print: () => void,
): HTMLElement {
  const switcher = button("", titleWithKeys("Light or dark", "theme"), () => theme.toggle());
  const name = (): void => {
    switcher.textContent = theme.dark ? "Light" : "Dark";
  };
  theme.onChange(name);
  name();
  const link = (id: string, text: string): HTMLElement => el("a", { href: `#${id}`, text });
  const parts = [
    model.data.angles && model.data.motion ? link("angles", "Angles") : null,
    model.data.chains.length ? link("axes", "Axes") : null,
    model.links.length && model.data.motion ? link("residuals", "Residuals") : null,
    model.data.turns.length ? link("motion", "What moved") : null,
    model.data.limbs.length ? link("lengths", "Lengths") : null,
    link("tree", "Tree"),
    model.links.length ? link("tables", "Tables") : null,
    link("made", "How it was made"),
  ];
  return el(
    "header",
    { class: "bar" },
    el(
      "h1",
      {},
      el("span", { class: "mark", text: "condyle" }),
      el("bdi", { class: "title", text: model.data.title, title: model.data.title }),
    ),
    el("nav", { "aria-label": "Parts of the page" }, ...parts),
    el(
      "div",
      { class: "tools" },
      button("Save", "Tables, series and exports, one click each", save),
      button("Print", "Print, or save as PDF, when all of the motion is there", print),
      switcher,
      button("?", titleWithKeys("Keys", "keys"), () => dialog.showModal(), { "aria-label": "Keys" }),
    ),
  );
}

function figurePart(
  model: Model,
  motion: Motion | null,
  store: Store,
  theme: Theme,
): { element: HTMLElement; stage: Stage | null } {
  const element = el("section", { class: "figure", "aria-label": "Figure" });
  if (motion === null) {
    element.append(el("p", { class: "no-figure", text: "This page holds no motion." }));
    return { element, stage: null };
  }
  let stage: Stage;
  try {
    stage = new Stage(model, motion, store);
  } catch {
    element.append(
      el("p", {
        class: "no-figure",
        text: "The figure needs WebGL, which this browser does not offer here. Everything else on the page works.",
      }),
    );
    return { element, stage: null };
  }
  const transport = new Transport(model, motion, store);
  const legend = sceneLegend(model, store, stage);
  const wait = el("p", { class: "wait", role: "status" });
  stage.element.append(legend.element, wait);
  const told = (): void => {
    const arriving = motion.progress < 1 && motion.poses(store.state.frame) === null;
    wait.textContent = motion.failure
      ? `Part of the motion did not arrive: ${motion.failure}`
      : arriving
        ? "Unpacking the motion …"
        : "";
  };
  motion.onArrival(told);
  told();
  theme.onChange(() => {
    stage.repaint();
    transport.repaint();
    legend.repaint();
  });
  makePlayer(motion, store);
  const { every, rate } = motion.page;
  const sparse =
    every > 1
      ? el("p", {
          class: "quiet sparse",
          text: `Every ${every}${every === 2 ? "nd" : every === 3 ? "rd" : "th"} frame is shown (${rate.toFixed(0)} Hz); all of them counted.`,
        })
      : null;
  element.append(sceneControls(model, store, stage), stage.element, transport.element);
  if (sparse) element.append(sparse);
  return { element, stage };
}

function residuals(model: Model, motion: Motion, store: Store, theme: Theme): HTMLElement {
  const plot = new GapPlot(model, motion, store);
  theme.onChange(() => plot.repaint());
  const content = el("div", {}, plot.element);
  const small = (title: string, first: number, end: number): void => {
    if (end === first) return;
    const multiples = new Multiples(
      model,
      motion,
      store,
      Array.from({ length: end - first }, (_, i) => first + i),
    );
    theme.onChange(() => multiples.repaint());
    const words = [`${title} `, el("span", { class: "quiet", text: `same scales, 0 to ${multiples.scale} mm` })];
    const few = end - first <= FEW || first === 0;
    content.append(
      el(
        "details",
        few ? { class: "sub", open: true } : { class: "sub" },
        el("summary", {}, ...words),
        multiples.element,
      ),
    );
  };
  small("All joints", 0, model.data.joints.length);
  small("All loops and contacts", model.data.joints.length, model.links.length);
  if (model.data.connections.length)
    content.append(el("h3", { class: "sub", text: "When bodies were joined" }), timeline(model, motion, store));
  return section("residuals", "Residuals", "How far the two sides of a joint come apart, frame by frame.", content);
}

function section(id: string, title: string, about: string, content: HTMLElement): HTMLElement {
  return el(
    "section",
    { id, class: "part", "aria-labelledby": `${id}-title` },
    el(
      "header",
      { class: "part-head" },
      el("h2", { id: `${id}-title`, text: title }),
      about ? el("p", { class: "quiet", text: about }) : null,
    ),
    content,
  );
}

function footer(model: Model): HTMLElement {
  return el(
    "footer",
    { class: "quiet" },
    el("p", {
      text: `condyle ${model.data.condyle}. Lengths in millimetres, angles in degrees. This page asks nothing of the network.`,
    }),
  );
}
