/** Where time goes, as spans of a trace. */
export interface Tracer {
  /** Does the work inside a span; calls of the runtime that it makes become spans inside it. */
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
}

export type SpanAttributes = Readonly<Record<string, string>>;
