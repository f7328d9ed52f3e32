/** The worker's side of `worker-pool.ts`: reports its thread id, then runs one job after the other. */
import { readlinkSync } from 'node:fs'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'

export type FromWorker<R> = { readonly thread: string | undefined } | { readonly result: R }

/** Runs jobs as they arrive. Buffers in `transfer` are handed over with a result instead of being copied. */
export function answerJobs<J, R>(work: (job: J) => { readonly result: R; readonly transfer?: readonly ArrayBuffer[] }): void {
  const port = parentPort
  port?.on('message', (job: J) => {
    const { result, transfer = [] } = work(job)
    port.postMessage({ result } satisfies FromWorker<R>, [...transfer])
  })
  port?.postMessage({ thread: threadId() } satisfies FromWorker<R>)
}

/** The system's id of this thread, where it is known. */
function threadId(): string | undefined {
  try {
    return readlinkSync('/proc/thread-self').split('/').at(-1)
  } catch {
    return undefined
  }
}

/** The channel to the main thread: a port for questions and answers, and a number that is 1 once there is an answer. */
export type Asking = { readonly port: MessagePort; readonly answered: Int32Array }

/** Asks the main thread about the current job, and blocks until it answers. */
export function ask<Q, A>(question: Q): A {
  const { port, answered } = workerData as Asking
  Atomics.store(answered, 0, 0)
  port.postMessage(question)
  Atomics.wait(answered, 0, 0)
  return receiveMessageOnPort(port)!.message
}
