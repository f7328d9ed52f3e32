/** The health of a KMS plugin: it is asked again and again, and an answer counts for some seconds. */

export type KmsTimes = {
  /** How often a healthy plugin is asked, and one that is not. */
  readonly healthyMs: number
  readonly unhealthyMs: number
  /** How long the answer to a health check counts. */
  readonly goodForMs: number
  readonly badForMs: number
  /** How long a seed may be written with after the plugin last said that its key is in use. */
  readonly writableMs: number
}
export const KMS_TIMES: KmsTimes = { healthyMs: 60_000, unhealthyMs: 10_000, goodForMs: 20_000, badForMs: 3_000, writableMs: 180_000 }

/** The result of one check. As in kube-apiserver, an error of the plugin is repeated without the words around it. */
export type Checked = { readonly problem: string | undefined; readonly repeated?: string }

export type PluginHealthParts = {
  /** Asks the plugin. Never rejects. */
  readonly ask: () => Promise<Checked>
  /** Called when records that could not be decrypted before may be decrypted now. */
  readonly onReadable: () => void
  readonly now: () => number
  readonly times: KmsTimes
}

export class PluginHealth {
  readonly #parts: PluginHealthParts
  #last: { readonly problem: string | undefined; readonly until: number } | undefined
  #checking: Promise<string | undefined> | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #hasFailedReads = false

  constructor(parts: PluginHealthParts) {
    this.#parts = parts
  }

  /** Asks the plugin for the first time, and from then on again and again. A plugin that does not run yet is no failure. */
  async start(): Promise<void> {
    const problem = await this.check()
    if (this.#isClosed) return
    const { healthyMs, unhealthyMs } = this.#parts.times
    this.#timer = setTimeout(() => void this.start(), problem === undefined ? healthyMs : unhealthyMs)
    this.#timer.unref()
  }

  /** The reason why the plugin cannot be used; undefined when it can. An answer of the last seconds counts. */
  check(): Promise<string | undefined> {
    if (this.#last && this.#parts.now() < this.#last.until) return Promise.resolve(this.#last.problem)
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined))
    return this.#checking
  }

  /** A record could not be decrypted: it is worth another try when the plugin is healthy. */
  noteFailedRead(): void {
    this.#hasFailedReads = true
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #check(): Promise<string | undefined> {
    const { ask, now, times, onReadable } = this.#parts
    const { problem, repeated = problem } = await ask()
    this.#last = { problem: repeated, until: now() + (problem === undefined ? times.goodForMs : times.badForMs) }
    if (problem === undefined && this.#hasFailedReads && !this.#isClosed) {
      this.#hasFailedReads = false
      onReadable()
    }
    return problem
  }
}
