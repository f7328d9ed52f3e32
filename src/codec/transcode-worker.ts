/** The worker's side of `WorkerTranscoder`: tells which thread it is, then answers one job after the other. */
import { readlinkSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { type TranscodeJob, transcode } from './transcode.ts'

export type FromWorker = { readonly thread: string | undefined } | { readonly transcoded: ReturnType<typeof transcode> }

/** The id that the system gives this thread, where it says so. */
function threadId(): string | undefined {
  try {
    return readlinkSync('/proc/thread-self').split('/').at(-1)
  } catch {
    return undefined
  }
}

const port = parentPort
port?.on('message', (job: TranscodeJob) => {
  const transcoded = transcode(job)
  if (transcoded.outcome !== 'json') port.postMessage({ transcoded } satisfies FromWorker)
  else {
    // A buffer of its own can be handed over; one from the pool is shared.
    const json = Uint8Array.from(transcoded.json)
    port.postMessage({ transcoded: { ...transcoded, json } } satisfies FromWorker, [json.buffer])
  }
})
port?.postMessage({ thread: threadId() } satisfies FromWorker)
