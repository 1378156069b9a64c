import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "tools/**/*.test.ts",
            "test/*.test.ts",
            "test/sim/*.test.ts",
          ],
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts", "test/golden/*.test.ts"],
          // Real containers on two cores: files take turns, and a slow machine is not a failure.
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      { test: { name: "vectors", include: ["test/vectors/*.test.ts"], testTimeout: 120_000 } },
    ],
  },
});

export default config;
