export type LogFields = Readonly<Record<string, unknown>>;

/** Messages are fixed lowercase sentences; what varies goes into the fields. Secrets go nowhere. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** A log whose details can be asked for while it is written. */
export interface AdjustableLog extends Log {
  showDetails(shown: boolean): void;
}
