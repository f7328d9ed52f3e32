/** The worker's side of `CommandRuns`. */
import { answerJobs, ask } from '../../lib/worker-thread.ts'
import { type CommandJob, type JobResult, jobRunner } from './command-job.ts'

const run = jobRunner(ask)
answerJobs<CommandJob, JobResult>(job => ({ result: run(job) }))
