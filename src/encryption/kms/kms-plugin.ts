/** A KMS plugin of either version, as the server starts and checks it. */
export interface KmsPlugin {
  /** Asks the plugin for the first time, and from then on again and again. A plugin that does not run yet is no failure. */
  start(): Promise<void>
  /** The reason why the plugin cannot be used; undefined when it can. An answer of the last seconds counts. */
  check(): Promise<string | undefined>
  close(): void
}
