/** The worker's side of `WorkerTranscoder`. */
import { answerJobs } from '../lib/worker-thread.ts'
import { type Transcoded, type TranscodeJob, transcode } from './transcode.ts'

answerJobs<TranscodeJob, Transcoded>(job => {
  const result = transcode(job)
  if (result.outcome !== 'json') return { result }
  // A buffer of its own can be handed over; one from the pool is shared.
  const json = Uint8Array.from(result.json)
  return { result: { ...result, json }, transfer: [json.buffer] }
})
