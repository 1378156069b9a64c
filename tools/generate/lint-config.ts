import {
  impureGlobals,
  layers,
  maxFileLines,
  maxFunctionLines,
  maxParameters,
  pageLayer,
} from "../layers.ts";
import { ownFiles } from "../own-files.ts";

/** The oxlint configuration: general rules, and the layer table as import restrictions. */
export function lintConfig(): string {
  const config = {
    $schema: "./node_modules/oxlint/configuration_schema.json",
    plugins: ["typescript", "unicorn", "oxc", "import", "promise", "node", "vitest"],
    categories: { correctness: "error", suspicious: "error" },
    ignorePatterns: ["dist", "**/generated/**", "src/generated/**"],
    rules: generalRules,
    overrides: [
      ...Object.entries(layers).map(([name, layer]) => ({
        files: [`src/${name}/**/*.ts`],
        rules: {
          "no-restricted-imports": [
            "error",
            { paths: [...shellCalls, ...fileCalls], patterns: restrictedImports(name) },
          ],
          "no-restricted-globals": ["error", ...(layer.pure ? impureGlobals : [shortTimeout])],
          "no-restricted-properties": [
            "error",
            unlimitedJson,
            shortSignal,
            ...(layer.pure ? [randomness] : []),
          ],
        },
      })),
      ...Object.keys(layers).flatMap((name) => {
        const files = ownFiles.filter((file) => file.startsWith(`src/${name}/`));
        const restricted = { paths: shellCalls, patterns: restrictedImports(name) };
        const rules = { "no-restricted-imports": ["error", restricted] };
        return files.length === 0 ? [] : [{ files, rules }];
      }),
      {
        files: ["**/*.test.ts", "test/**/*.ts", "tools/**/*.ts"],
        rules: {
          "no-restricted-imports": "off",
          "no-restricted-globals": "off",
          "no-restricted-properties": "off",
          "max-lines-per-function": "off",
        },
      },
      // To wait until a locator finds something is an assertion.
      { files: ["test/browser/**/*.ts"], rules: { "vitest/expect-expect": "off" } },
      {
        files: ["src/lib/json-text.ts", "src/lib/timers.ts"],
        rules: { "no-restricted-properties": "off", "no-restricted-globals": "off" },
      },
      {
        files: ["web/**/*.ts", "web/**/*.tsx"],
        plugins: ["typescript", "unicorn", "oxc", "import", "promise", "jsx-a11y", "react"],
        rules: {
          "no-restricted-imports": ["error", { patterns: pageImports() }],
          "no-restricted-properties": ["error", unlimitedJson],
          // Types of src need Node's; browsers have none of these.
          "no-restricted-globals": [
            "error",
            "Buffer",
            "process",
            "require",
            "setImmediate",
            "global",
          ],
          // Preact's JSX is a function call that the build inserts.
          "react/react-in-jsx-scope": "off",
          // Attributes have the names of HTML.
          "react/no-unknown-property": "off",
          "react/no-danger": "error",
          // A live region is not always what a form computed.
          "jsx-a11y/prefer-tag-over-role": "off",
        },
      },
      { files: ["vitest.config.ts"], rules: { "import/no-default-export": "off" } },
    ],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

const randomness = { object: "Math", property: "random", message: "Randomness is an argument." };

/** What hands a text to a shell. `shell: true` and the like are found by test/shell-strings.test.ts. */
const shellCalls = ["node:child_process", "child_process"].map((name) => ({
  name,
  importNames: ["exec", "execSync", "default"],
  message: "A shell reads commands out of names: use execFile or spawn with an array of arguments.",
}));

const fileCalls = ["node:fs", "node:fs/promises", "fs", "fs/promises"].map((name) => ({
  name,
  message:
    "Foreign paths go through the port ForeignFiles; a file that opens only the agent's own is listed in tools/own-files.ts.",
}));

const unlimitedJson = {
  object: "JSON",
  property: "parse",
  message: "parseJsonText of src/lib/json-text.ts refuses what is nested too deep.",
};

// Node's timers go off at once when they are asked for more than 25 days.
const longTimers = "The timers of src/lib/timers.ts accept delays of any length.";
const shortTimeout = { name: "setTimeout", message: longTimers };
const shortSignal = { object: "AbortSignal", property: "timeout", message: longTimers };
const shortPromises = {
  group: ["node:timers/promises", "timers/promises", "node:timers", "timers"],
  importNames: ["setTimeout", "setInterval", "scheduler"],
  message: longTimers,
};

const generalRules = {
  "max-lines": ["error", { max: maxFileLines }],
  "max-lines-per-function": ["error", { max: maxFunctionLines, skipComments: true }],
  "max-params": ["error", { max: maxParameters }],
  "import/no-cycle": "error",
  "import/no-default-export": "error",
  "typescript/no-explicit-any": "error",
  "typescript/no-non-null-assertion": "error",
  "typescript/no-namespace": "error",
  "typescript/consistent-type-imports": "error",
  "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
  // Decoders at the border assert what they have read; review keeps `as` out of everything else.
  "typescript/no-unsafe-type-assertion": "off",
  "typescript/no-floating-promises": "error",
  "typescript/no-misused-promises": "error",
  "typescript/await-thenable": "error",
  // noImplicitReturns covers it, and lets exhaustive switches do without a default.
  "typescript/consistent-return": "off",
  // A small function reads best beside its only use.
  "unicorn/consistent-function-scoping": "off",
  // Knows windows, not worker threads.
  "unicorn/require-post-message-target-origin": "off",
  "no-await-in-loop": "off",
  "no-shadow": "off",
  "import/no-named-as-default-member": "off",
  "vitest/require-mock-type-parameters": "off",
};

/** Types are checked by test/layers.test.ts, which sees which imports are of types. */
function pageImports(): unknown[] {
  const allowed = [...pageLayer.imports, ...pageLayer.types];
  const forbidden = Object.keys(layers).filter((name) => !allowed.includes(name));
  return [
    {
      regex: `^(\\.\\./)+src/(${forbidden.join("|")})/`,
      message: `Bad layering: web may import ${pageLayer.imports.join(", ")} of src, and types of ${pageLayer.types.join(", ")}.`,
    },
    { regex: "^node:", message: "Browsers have no modules of Node's." },
  ];
}

function restrictedImports(name: string): unknown[] {
  const layer = layers[name];
  if (layer === undefined) throw new Error(`no layer ${name}`);
  const allowed = [name, ...layer.imports];
  // These layers have generated files of their own, which a relative path does not distinguish from the layer.
  const generates = name === "model" || name === "config";
  const forbidden = Object.keys(layers).filter(
    (other) => !allowed.includes(other) && !(generates && other === "generated"),
  );
  const patterns: unknown[] = [
    {
      regex: `^(\\.\\./)+(${forbidden.join("|")})/`,
      message: `Bad layering: src/${name} may import ${layer.imports.join(", ") || "nothing"}.`,
    },
  ];
  if (!layer.world) {
    patterns.push({
      regex: "^(node:|@|[a-z])",
      message: `Bad layering: src/${name} sees neither Node's modules nor npm packages.`,
    });
  } else patterns.push(shortPromises);
  if (layer.pure) {
    patterns.push({
      regex: "/lib/timers\\.ts$",
      message: `Bad layering: src/${name} waits by a Clock, which the simulator replaces.`,
    });
  }
  return patterns;
}
