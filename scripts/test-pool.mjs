// Runs test files in a few processes, each of which runs many: starting one for every file takes longer than most files do.
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A process that has grown past this is replaced before the next file. */
const MAX_MEMORY = 1.5 * 1024 ** 3
/** A process that tells nothing for so long hangs: every test has a shorter deadline of its own. */
const MAX_SILENCE_MS = 25 * 60_000
/** A server that dies leaves one such error for each of its connections. */
const MAX_STRAYS = 3
/** Output of a file that is kept for the case that it fails. */
const MAX_OUTPUT = 20_000
/** A further file begins when so much of one processor had nothing to do for so long. */
const IDLE_SHARE = 0.25
const IDLE_MS = 1_000

/**
 * Runs files of a bundle, in order, as processes are free, and reports what happens: `passed`, `failed` and `skipped` for tests, `begin` and
 * `end` for files, `diagnostic` for what tests tell beside that. A file that `isAlone` has a process of its own.
 *
 * Beside `processes`, one for each processor, up to `more` run a file, since most files wait now and then: for a server, a deadline or the
 * end of a watch. The first of them always does, the others while a processor is idle. Of files that are `isHeavy`, which keep more than one
 * processor busy, one runs at a time, all in one process if possible, so that they can share a browser. Until `checks` has ended, which
 * keeps a processor busy as well, one process less runs.
 */
export async function runFiles(files, { bundle, processes, more = 0, checks, isAlone, isHeavy = () => false, showsOutput, env, report }) {
  const waiting = [...files]
  const running = new Set()
  const runner = fileURLToPath(new URL('./test-worker.cjs', import.meta.url))
  const reporter = new URL('./test-events.mjs', import.meta.url).href
  const children = new Set()
  const killAll = () => {
    for (const child of children) child.kill('SIGKILL')
  }
  process.once('exit', killAll)

  const start = () => {
    const execArgv = ['--test-reporter', reporter, '--test-reporter-destination', 'stderr']
    const child = fork(runner, [bundle], { execArgv, env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    children.add(child)
    child.once('exit', () => children.delete(child))
    return child
  }

  /** Runs one file in a process and resolves when the file, or the process, has ended. */
  const runFile = (child, file) =>
    new Promise(resolve => {
      const begun = performance.now()
      const cpuBefore = cpuSecondsOf(child.pid)
      const tests = { passed: 0, failed: 0, skipped: 0 }
      let output = ''
      let strays = 0
      /** Tests during which an error was not caught. */
      const strayed = new Set()
      let silence
      const listen = () => {
        clearTimeout(silence)
        silence = setTimeout(() => child.kill('SIGKILL'), MAX_SILENCE_MS)
      }
      const fail = (name, reason) => {
        tests.failed++
        report({ type: 'failed', file, name, reason, output })
        // It is shown once.
        output = ''
      }
      const onOutput = text => {
        if (showsOutput) process.stdout.write(text)
        if (output.length < MAX_OUTPUT) output += text
      }
      const end = () => {
        clearTimeout(silence)
        child.off('message', onMessage).off('exit', onExit)
        for (const stream of [child.stdout, child.stderr]) stream.off('data', onOutput)
        if (tests.passed + tests.failed + tests.skipped === 0) fail('', 'the file has no test')
        const cpuAfter = cpuSecondsOf(child.pid)
        const cpu = cpuBefore === undefined || cpuAfter === undefined ? undefined : cpuAfter - cpuBefore
        report({ type: 'end', file, seconds: (performance.now() - begun) / 1000, cpu, ...tests })
        resolve()
      }
      const onMessage = message => {
        listen()
        if (message.type === 'end') return end()
        if (message.type === 'stray') {
          strayed.add(message.name)
          return strays++ < MAX_STRAYS && fail(message.name, `an error that no test has caught: ${message.reason}`)
        }
        if (message.type === 'passed' && strayed.has(message.name)) return
        if (message.type === 'failed') return fail(message.name, message.reason)
        if (message.type in tests) tests[message.type]++
        report({ ...message, file })
      }
      const onExit = (code, signal) => {
        fail('', `the process of the file ended before the file did (${signal ?? `exit code ${code}`})`)
        end()
      }
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onOutput)
      child.on('message', onMessage).on('exit', onExit)
      report({ type: 'begin', file })
      listen()
      child.send(file)
    })

  const hasIdleProcessor = idleProcessors()
  const fits = file => !isHeavy(file) || ![...running].some(isHeavy)
  /**
   * Where the next file for a process is among those that wait: `further` processes come before it beside one for each processor, and `last`
   * is the file that it has just run.
   */
  const nextOf = (further, last) => {
    const heavy = last !== undefined && isHeavy(last) ? waiting.findIndex(file => isHeavy(file) && fits(file)) : -1
    if (heavy >= 0) return heavy
    return further <= 0 || hasIdleProcessor() ? waiting.findIndex(fits) : -1
  }
  /** The next file for a process, as soon as one may begin. */
  const next = async (further, last) => {
    for (; waiting.length > 0; await sleep(IDLE_MS / 4)) {
      const index = nextOf(further, last)
      if (index < 0) continue
      const [file] = waiting.splice(index, 1)
      running.add(file)
      return file
    }
  }
  const lane = async further => {
    let child
    if (further === -1) await checks
    for (let file = await next(further); file !== undefined; file = await next(further, file)) {
      if (child && (isAlone(file) || memoryOf(child.pid) > MAX_MEMORY)) child = void (await retire(child))
      child ??= start()
      await runFile(child, file)
      running.delete(file)
      if (child.exitCode !== null || child.signalCode !== null) child = undefined
      else if (isAlone(file)) child = void (await retire(child))
    }
    if (child) await retire(child)
  }
  await Promise.all(Array.from({ length: processes + more }, (_, i) => lane(i - processes)))
  process.off('exit', killAll)
}

/** Work that a test left running must not keep the process: tests that care for it say so themselves. */
async function retire(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

/**
 * A function that tells whether a processor was idle since it last said so, or since it was last asked in vain. One that waits for a disk
 * is idle.
 */
function idleProcessors() {
  const busyMs = () => cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0)
  let before = { at: performance.now(), busy: busyMs() }
  return () => {
    const elapsed = performance.now() - before.at
    if (elapsed < IDLE_MS) return false
    const busy = busyMs()
    const isIdle = cpus().length * elapsed - (busy - before.busy) >= IDLE_SHARE * elapsed
    before = { at: performance.now(), busy }
    return isIdle
  }
}

/** Processor time of a process and of its ended children, where the system tells it. */
function cpuSecondsOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')
    // utime, stime, cutime and cstime, in ticks of which every Linux has 100 a second.
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
  } catch {
    return undefined
  }
}

function memoryOf(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4096
  } catch {
    return 0
  }
}
