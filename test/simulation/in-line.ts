/** The work of worker threads, done in the thread of a run. */
import { transcode } from '../../src/codec/transcode.ts'
import type { InLineJob, WorkerProgram } from '../../src/lib/environment.ts'
import { jobRunner } from '../../src/nodes/script/command-job.ts'
import { validateMessage } from '../../src/server/validation/validation-worker.ts'

export const IN_LINE: Readonly<Record<WorkerProgram, InLineJob>> = {
  // A new one each time, so that a run leaves nothing behind for the next.
  commands: (job, ask) => jobRunner(ask)(job),
  transcoding: job => transcode(job),
  validation: message => validateMessage(message),
}
