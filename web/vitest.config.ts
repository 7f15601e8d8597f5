import { defineConfig } from "vitest/config";

// Apart from vite.config.ts, so that the page is built without vitest.
export default defineConfig({ test: { include: ["tests/**/*.test.ts"] } });
