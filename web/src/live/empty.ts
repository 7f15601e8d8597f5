import { FORMAT, type PageData, VERSION } from "../data";

/** A page of sensors that are joined to nothing: what is shown before the first solve. */
export function emptyPage(names: readonly string[]): PageData {
  return {
    format: FORMAT,
    version: VERSION,
    condyle: "",
    title: "live",
    verdict: { text: "", tone: "look", sure: 0, length_95: null },
    seconds: 0,
    frames: 0,
    bodies: names.map((name) => ({
      name,
      figure: -1,
      root: false,
      world: false,
      noise_position: null,
      noise_orientation: null,
      masked: 0,
    })),
    joints: [],
    loops: [],
    connections: [],
    limbs: [],
    placements: [],
    findings: [],
    masked: [],
    made: [],
    angles: null,
    chains: [],
    slips: [],
    recorded: [],
    turns: [],
    exports: [],
    motion: null,
  };
}
