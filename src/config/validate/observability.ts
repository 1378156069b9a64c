import { nanosecondsOf } from "../../lib/duration.ts";
import { parseUrlScheme } from "../../lib/go-url-problem.ts";
import { mustParseQuantity, quantityMilliValue } from "../../model/quantity.ts";
import {
  type FieldError,
  forbidden,
  formatFieldError,
  invalid,
  required,
} from "../../model/validate/field-error.ts";
import { type FeatureGateState, isFeatureEnabled } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../generated/kubelet-configuration.ts";
import { type Check } from "./checked-config.ts";

const previousVersion = "1.35";
const maxVerbosity = 2 ** 31 - 1;
const maxSamplingRate = 1_000_000;

/** Metrics, logs and traces. */
export const checkObservability: Check = ({ config, gates }) => [
  ...hiddenMetricsProblems(config.showHiddenMetricsForVersion),
  ...distinct(loggingErrors(config.logging, gates)),
  ...distinct(tracingErrors(config.tracing)),
];

function hiddenMetricsProblems(version: string): readonly string[] {
  if (version === "" || version === previousVersion) return [];
  const detail = `must be omitted or have the value '${previousVersion}'; only the previous minor version is allowed`;
  const error = formatFieldError(invalid("showHiddenMetricsForVersion", version, detail));
  return [`invalid showHiddenMetricsForVersion: ${error}`];
}

function loggingErrors(
  logging: KubeletConfiguration["logging"],
  gates: FeatureGateState,
): readonly FieldError[] {
  const { format, flushFrequency, verbosity, vmodule = [], options } = logging;
  const isFlushed =
    typeof flushFrequency === "number" ? flushFrequency > 0 : nanosecondsOf(flushFrequency) > 0n;
  return [
    ...(isFlushed
      ? []
      : [invalid("logging.flushFrequency", { json: flushFrequency }, "Must be greater than zero")]),
    ...formatErrors(format, gates),
    ...verbosityErrors("logging.verbosity", verbosity),
    ...(vmodule.length > 0 && format !== "" && format !== "text"
      ? [forbidden("logging.vmodule", "Only supported for text log format")]
      : []),
    ...vmodule.flatMap((item, index) => {
      const field = `logging.vmodule[${index}]`;
      return [
        ...(item.filePattern === "" ? [required(field, "File pattern must not be empty")] : []),
        ...(/[=,]/.test(item.filePattern)
          ? [invalid(field, item.filePattern, "File pattern must not contain equal sign or comma")]
          : []),
        ...verbosityErrors(field, item.verbosity),
      ];
    }),
    ...alphaErrors("logging.options.text", options.text, gates),
    ...alphaErrors("logging.options.json", options.json, gates),
  ];
}

function formatErrors(format: string, gates: FeatureGateState): readonly FieldError[] {
  if (format === "text") return [];
  if (format !== "json") return [invalid("logging.format", format, "Unsupported log format")];
  if (isFeatureEnabled(gates, "LoggingBetaOptions")) return [];
  const detail = "Log format json is disabled, see LoggingBetaOptions feature";
  return [forbidden("logging.format", detail)];
}

function verbosityErrors(field: string, verbosity: number): readonly FieldError[] {
  if (verbosity <= maxVerbosity) return [];
  return [invalid(field, { json: verbosity }, `Must be <= ${maxVerbosity}`)];
}

function alphaErrors(
  field: string,
  options: KubeletConfiguration["logging"]["options"]["text"],
  gates: FeatureGateState,
): readonly FieldError[] {
  if (isFeatureEnabled(gates, "LoggingAlphaOptions")) return [];
  const detail = "Feature LoggingAlphaOptions is disabled";
  const isBuffered = quantityMilliValue(mustParseQuantity(options.infoBufferSize)) !== 0n;
  return [
    ...(options.splitStream ? [forbidden(`${field}.splitStream`, detail)] : []),
    ...(isBuffered ? [forbidden(`${field}.infoBufferSize`, detail)] : []),
  ];
}

function tracingErrors(tracing: KubeletConfiguration["tracing"]): readonly FieldError[] {
  const rate = tracing?.samplingRatePerMillion ?? 0;
  const rateField = "tracing.samplingRatePerMillion";
  return [
    ...(rate < 0 ? [invalid(rateField, rate, "sampling rate must be positive")] : []),
    ...(rate > maxSamplingRate
      ? [
          invalid(
            rateField,
            rate,
            "sampling rate per million must be less than or equal to one million",
          ),
        ]
      : []),
    ...endpointErrors(tracing?.endpoint),
  ];
}

function endpointErrors(given: string | undefined): readonly FieldError[] {
  if (given === undefined) return [];
  const endpoint = given.includes("//") ? given : `dns://${given}`;
  const scheme = parseUrlScheme(endpoint);
  if (!scheme.ok) return [invalid("tracing.endpoint", endpoint, scheme.error)];
  if (["dns", "unix", "unix-abstract"].includes(scheme.value)) return [];
  const detail = `unsupported scheme: ${scheme.value}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`;
  return [invalid("tracing.endpoint", endpoint, detail)];
}

function distinct(errors: readonly FieldError[]): readonly string[] {
  return [...new Set(errors.map(formatFieldError))];
}
