// Pictures of pages, light and dark, wide and narrow:
//   node looks.mjs OUT page.html [another.html ...] [--whole] [--size 1280x800] [--theme light] [--do "press 4"]
// --whole takes the full page, not only the first screen; --print as it would be printed; --do presses keys, clicks
// (CSS), shows (scrolls to CSS) or waits [ms], one after the other between semicolons. Chromium is found in CHROMIUM or as /usr/bin/chromium.
import { mkdirSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    whole: { type: "boolean" },
    size: { type: "string" },
    theme: { type: "string" },
    print: { type: "boolean" },
    do: { type: "string" },
    name: { type: "string" },
  },
});
const [out, ...pages] = positionals;
if (!out || pages.length === 0) throw new Error("usage: node looks.mjs OUT page.html ...");
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"],
});
const sizes = values.size
  ? [values.size.split("x").map(Number)]
  : [
      [1280, 800],
      [390, 844],
    ];
for (const path of pages) {
  const name =
    values.name ?? (basename(path) === "report.html" ? basename(dirname(resolve(path))) : basename(path, ".html"));
  for (const theme of values.theme ? [values.theme] : ["light", "dark"]) {
    for (const [width, height] of sizes) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        deviceScaleFactor: width < 500 ? 2 : 1,
      });
      const page = await context.newPage();
      page.on("console", (message) => console.log(`${name}: ${message.type()}: ${message.text()}`));
      page.on("pageerror", (error) => console.log(`${name}: ${error.stack ?? error}`));
      page.on(
        "request",
        (request) =>
          request.url().startsWith("file:") ||
          request.url().startsWith("data:") ||
          request.url().startsWith("blob:") ||
          console.log(`${name}: asked for ${request.url()}`),
      );
      await page.goto(path.startsWith("http") ? path : pathToFileURL(resolve(path)).href);
      await page
        .waitForFunction(() => document.documentElement.dataset.motion === "whole", null, { timeout: 20000 })
        .catch(() => console.log(`${name}: motion not whole`));
      await page.waitForTimeout(1200);
      for (const step of (values.do ?? "")
        .split(";")
        .map((text) => text.trim())
        .filter(Boolean)) {
        const [verb, ...rest] = step.split(" ");
        if (verb === "press") await page.keyboard.press(rest.join(" "));
        else if (verb === "click") await page.click(rest.join(" "));
        else if (verb === "show")
          await page.evaluate(
            (what) => document.querySelector(what).scrollIntoView({ block: "start" }),
            rest.join(" "),
          );
        else if (verb === "wait") await page.waitForTimeout(Number(rest[0]));
        else throw new Error(`cannot ${verb}`);
        await page.waitForTimeout(250);
      }
      if (values.print) await page.emulateMedia({ media: "print" });
      const file = `${out}/${name}-${width}-${theme}${values.whole ? "-whole" : ""}.png`;
      await page.screenshot({ path: file, fullPage: values.whole ?? false });
      console.log(file);
      await context.close();
    }
  }
}
await browser.close();
