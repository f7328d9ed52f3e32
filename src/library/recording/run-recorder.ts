/** Records a run: the state before it, every write, the faults and the requests. */
import type { Server } from '../../server/running-server.ts'
import { VERSION } from '../../version.ts'
import type { SavedState } from '../state.ts'
import type { TestKit } from '../test-kit.ts'
import type { RecordedFaults, RecordedWrite, Recording } from './recording-file.ts'

/** A run that writes more is recorded up to here. */
const MAX_BYTES = 512 << 20

export class RunRecorder {
  readonly #kit: TestKit
  readonly #server: Server
  readonly #writes: RecordedWrite[] = []
  readonly #faults: RecordedFaults[] = []
  readonly #base: SavedState
  readonly #started: string
  readonly #end = new AbortController()
  readonly #following: Promise<void>
  #bytes = 0

  private constructor(kit: TestKit, server: Server, base: SavedState) {
    this.#kit = kit
    this.#server = server
    this.#base = base
    this.#started = this.#now()
    this.#following = this.#follow()
    kit.faults.observe(() => this.#noteFaults())
  }

  static async begin(kit: TestKit, server: Server): Promise<RunRecorder> {
    kit.recorder.clear()
    return new RunRecorder(kit, server, await kit.save())
  }

  /** Ends the recording and returns it. */
  async end(
    run: Pick<Recording, 'command' | 'flags' | 'groupDomain' | 'exitCode'>,
  ): Promise<{ recording: Recording; isComplete: boolean }> {
    await this.#caughtUp()
    this.#end.abort()
    await this.#following
    const { revision, records } = this.#base
    const recording = {
      ...run,
      writtenBy: `keelson ${VERSION}`,
      started: this.#started,
      revision,
      records,
      writes: this.#writes,
      faults: this.#faults,
      requests: [...this.#kit.recorder.requests],
    }
    return { recording, isComplete: this.#bytes <= MAX_BYTES }
  }

  #now(): string {
    return new Date(this.#kit.clock.now()).toISOString()
  }

  #noteFaults(): void {
    const { faults } = this.#kit
    const { revision } = this.#server.client
    this.#faults.push({ revision, at: this.#now(), seed: faults.currentSeed, faults: faults.report().map(({ fault }) => fault) })
  }

  async #follow(): Promise<void> {
    for await (const { revision, events } of this.#server.store.watch('', this.#base.revision, this.#end.signal)) {
      for (const { key, after } of events) {
        this.#bytes += key.length + (after?.value.byteLength ?? 0)
        if (this.#bytes > MAX_BYTES) continue
        this.#writes.push({ revision, at: this.#now(), isFrozen: this.#kit.clock.isFrozen, key, value: after?.value })
      }
      this.#reached = revision
      this.#onBatch()
    }
  }

  #reached = 0
  #onBatch = () => {}

  /** Resolves when every write that was acknowledged by now has been seen. */
  async #caughtUp(): Promise<void> {
    const newest = await this.#server.store.fresh()
    await new Promise<void>(resolve => {
      this.#onBatch = () => this.#reached >= newest && resolve()
      if (newest <= this.#base.revision) resolve()
      this.#onBatch()
    })
  }
}
