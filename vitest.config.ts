import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "tools/**/*.test.ts", "test/*.test.ts"],
        },
      },
      { test: { name: "vectors", include: ["test/vectors/*.test.ts"], testTimeout: 120_000 } },
    ],
  },
});

export default config;
