/**
 * The scripts of simulated containers, from annotations of their pod (docs/simulated-nodes.md):
 *
 *     sim.keelson.dev/run-time: 2s             all containers but init containers run for two seconds
 *     setup.sim.keelson.dev/exit-code: "1,0"   the container setup fails at its first run and succeeds at its second
 */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { DurationError, parseDuration } from '../../lib/duration.ts'
import { LIMITS } from '../../lib/limits.ts'
import { truncate } from '../../lib/truncate.ts'
import { ADDRESS_ANNOTATION, standInOf } from '../connect/stand-in.ts'
import { pullErrorOf } from '../container/image.ts'
import type { Understood } from '../container/understood.ts'
import { readUses, type Use } from '../usage/scripted-use.ts'
import type { Commands } from './commands.ts'

/** The domain of the annotations; the name of a container before it selects that container. */
export const SCRIPT_DOMAIN = 'sim.keelson.dev'

export type Script = {
  /** Run time; undefined for the default behaviour. */
  readonly runMs: number | undefined
  /** Exit codes of the runs in their order; the last one is that of all further runs. None for the default behaviour. */
  readonly exitCodes: readonly number[]
  /** Time after the start at which the container passes its startup probe, and is ready. Infinite for never. */
  readonly startupMs: number
  readonly readyMs: number
  /** Time after the start at which the liveness probe fails, or the startup probe for good. */
  readonly livenessMs: number
  readonly startupFailureMs: number
  /** Time that the container takes to stop; after its grace period it is killed. */
  readonly stopMs: number
  /** Delay of the second restart, doubled each time. Undefined for a kubelet's delay. */
  readonly restartMs: number | undefined
  /** Why the image cannot be pulled. */
  readonly pullError: string | undefined
  readonly terminationMessage: string | undefined
  readonly log: string
  /** Whether the command exceeds its limits and no annotation replaces its result. */
  readonly isExceeded: boolean
  /** Whether probes wait for their delays and periods. */
  readonly isTimed: boolean
  /** Messages of failing probes. */
  readonly probeMessages: Readonly<Partial<Record<'startup' | 'readiness' | 'liveness', string>>>
  /** The probes that are really made; the others follow the script. */
  readonly realProbes: readonly ('startup' | 'readiness' | 'liveness')[]
  /** The reason of the end in the status; by default it follows from the exit code. */
  readonly endReason: string | undefined
  /** Usage over time; none for a share of the request. */
  readonly cpuUse: readonly Use[]
  readonly memoryUse: readonly Use[]
}

const NEVER = Number.POSITIVE_INFINITY
/** A container without a script. */
export const PLAIN_SCRIPT: Script = {
  runMs: undefined,
  exitCodes: [],
  startupMs: 0,
  readyMs: 0,
  livenessMs: NEVER,
  startupFailureMs: NEVER,
  stopMs: 0,
  restartMs: undefined,
  pullError: undefined,
  terminationMessage: undefined,
  log: '',
  isExceeded: false,
  isTimed: false,
  probeMessages: {},
  realProbes: [],
  endReason: undefined,
  cpuUse: [],
  memoryUse: [],
}

type Annotations = Readonly<Record<string, string>> | undefined
/** Reads the value of a setting; undefined when it is invalid. */
type Read = (value: string) => Partial<Script> | undefined

const duration =
  (key: keyof Script, { minMs = 0, never = false } = {}): Read =>
  value => {
    if (never && value === 'never') return { [key]: NEVER }
    const ms = value.length > MAX_VALUE_LENGTH ? undefined : durationMs(value)
    return ms === undefined || ms < minMs ? undefined : { [key]: ms }
  }

const use =
  (key: keyof Script): Read =>
  value => {
    const uses = value.length > MAX_VALUE_LENGTH ? undefined : readUses(value)
    return uses && { [key]: uses }
  }

/** Values are short, as every look at a pod reads its script. */
const MAX_VALUE_LENGTH = 256
const MAX_PORTS_LENGTH = 1024
/** A shorter delay would keep the processor busy. */
const MIN_RESTART_MS = 10

/** A scripted startup probe does not fail for good. */
const withStartup = (read: Partial<Script> | undefined) => read && { ...read, startupFailureMs: NEVER }

const SETTINGS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['run-time', duration('runMs', { never: true })],
  [
    'exit-code',
    value => {
      if (value.length > MAX_VALUE_LENGTH) return undefined
      const exitCodes = value.split(',').map(text => (/^\d{1,3}$/.test(text.trim()) ? Number(text) : 256))
      return exitCodes.every(code => code <= 255) ? { exitCodes } : undefined
    },
  ],
  ['crash-loop', value => (value === 'true' ? { runMs: 0, exitCodes: [1] } : value === 'false' ? {} : undefined)],
  ['startup-delay', value => withStartup(duration('startupMs', { never: true })(value))],
  ['ready-delay', duration('readyMs', { never: true })],
  ['liveness-failure', duration('livenessMs')],
  ['stop-time', duration('stopMs', { never: true })],
  ['restart-delay', duration('restartMs', { minMs: MIN_RESTART_MS })],
  ['image-pull-error', text => ({ pullError: truncate(text, LIMITS.nodeMessageLength) })],
  ['termination-message', terminationMessage => ({ terminationMessage })],
  ['log', log => ({ log })],
  ['probes', value => (value === 'timed' ? { isTimed: true } : value === 'immediate' ? { isTimed: false } : undefined)],
  // The address of a process for which the pod stands.
  ['address', value => (standInOf({ annotations: { [ADDRESS_ANNOTATION]: value } }, 1) ? {} : undefined)],
  ['ports', value => (/^\s*\d{1,5}=\d{1,5}\s*(,\s*\d{1,5}=\d{1,5}\s*)*$/.test(value.slice(0, MAX_PORTS_LENGTH)) ? {} : undefined)],
  ['cpu-usage', use('cpuUse')],
  ['memory-usage', use('memoryUse')],
])

type ScriptOptions = {
  readonly isInit: boolean
  readonly commands: Commands
  /** The number of the run; the first is 0. */
  readonly run: number
}

/** The script from annotations and the image alone; no command is run. */
export function annotatedScript(metadata: Annotated, container: Container, isInit: boolean): Script {
  const pullError = pullErrorOf(container.image ?? '')
  return withAnnotations(pullError === undefined ? PLAIN_SCRIPT : { ...PLAIN_SCRIPT, pullError }, metadata, { own: container.name, isInit })
}

/** The script of a run: the result of its command, overridden by annotations. `pending` until the result is known. */
export function scriptOf(metadata: Annotated, container: Container, { isInit, commands, run }: ScriptOptions): Script | 'pending' {
  const [ran, ...probes] = [
    commands.run(container, run),
    ...[container.startupProbe, container.readinessProbe, container.livenessProbe].map(
      probe => probe?.exec?.command && commands.command(probe.exec.command),
    ),
  ]
  const known = probes.filter(probe => probe !== 'pending')
  if (ran === 'pending' || known.length < probes.length) return 'pending'
  return scriptOfRun(metadata, container, { isInit, ran, probes: known })
}

/** The script of a run that is over: its probes no longer matter. */
export function scriptOfRun(
  metadata: Annotated,
  container: Container,
  { isInit, ran, probes = [] }: { readonly isInit: boolean; readonly ran: Understood | undefined; readonly probes?: readonly Probed[] },
): Script {
  const { runMs, exitCodes, isTimed } = annotatedScript(metadata, container, isInit)
  // A container with a scripted run needs no command that can be run here.
  const isScripted = runMs !== undefined || exitCodes.length > 0
  const understood = ran?.exceeded !== undefined && isScripted ? undefined : ran
  return withAnnotations(ownScript(container, understood, { probed: probes, isTimed }), metadata, { own: container.name, isInit })
}

type Annotated = { readonly annotations?: Annotations }

/** Init containers follow only their own annotations, or a script for the pod would delay every step. */
function withAnnotations(from: Script, { annotations }: Annotated, { own, isInit }: { own: string; isInit: boolean }): Script {
  if (!annotations) return from
  let script = from
  for (const domain of isInit ? [`${own}.${SCRIPT_DOMAIN}`] : [SCRIPT_DOMAIN, `${own}.${SCRIPT_DOMAIN}`])
    for (const [name, read] of SETTINGS) {
      const value = annotations[`${domain}/${name}`]
      if (value !== undefined) script = { ...script, ...read(value) }
    }
  return script
}

/** The result of the command of a probe. */
type Probed = Understood | undefined

/** The script without annotations: the results of the command and of the commands of probes. */
function ownScript(
  container: Container,
  understood: Understood | undefined,
  { probed, isTimed }: { readonly probed: readonly Probed[]; readonly isTimed: boolean },
): Script {
  const { startupProbe, readinessProbe, livenessProbe } = container
  const pullError = pullErrorOf(container.image ?? '')
  if (!understood && !startupProbe && !readinessProbe && !livenessProbe && pullError === undefined) return PLAIN_SCRIPT
  const { runMs, exitCode, log, lastWords, exceeded } = understood ?? {}
  const [startup, readiness, liveness] = [startupProbe, readinessProbe, livenessProbe].map((probe, i) =>
    probeTimes(probe, container, { understood, probed: probed[i], isTimed }),
  )
  const ill = liveness?.failsMs ?? (understood && unhealthyAfterMs(livenessProbe, understood))
  const last = exceeded ?? lastWords
  const messages = Object.entries({ startup, readiness, liveness }).flatMap(([name, times]) =>
    times?.message ? [[name, times.message]] : [],
  )
  return {
    ...PLAIN_SCRIPT,
    pullError,
    isExceeded: exceeded !== undefined,
    ...(messages.length > 0 && { probeMessages: Object.fromEntries(messages) }),
    ...(exitCode !== undefined && { runMs, exitCodes: [exitCode], log: log ?? '' }),
    ...(last && { terminationMessage: last }),
    ...(startup && { startupMs: startup.passesMs, startupFailureMs: startup.failsMs ?? NEVER }),
    ...(readiness && { readyMs: readiness.passesMs }),
    ...(ill !== undefined && { livenessMs: ill }),
  }
}

/** Time after the start at which a probe passes, and at which it has reached its failure threshold, if it does. */
type ProbeTimes = { readonly passesMs: number; readonly failsMs: number | undefined; readonly message?: string | undefined }

/** Undefined when the probe succeeds at once, or its result is unknown. */
function probeTimes(
  probe: Container['livenessProbe'],
  container: Container,
  { understood, probed, isTimed }: { readonly understood: Understood | undefined; readonly probed: Probed; readonly isTimed: boolean },
): ProbeTimes | undefined {
  if (!probe) return undefined
  const { initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1, failureThreshold = 3 } = probe
  const failsMs = (initialDelaySeconds + (failureThreshold - 1) * periodSeconds) * 1000
  const fails = probed && (probed.exitCode !== 0 || probed.runMs > timeoutSeconds * 1000)
  if (fails || isRefused(probe, container, understood)) return { passesMs: NEVER, failsMs, message: probed?.exceeded }
  const sinceMs = understood && fileSinceMs(probe, container, understood)
  const passesMs = isTimed ? passedMs(probe, sinceMs ?? 0) : sinceMs
  return passesMs === undefined ? undefined : { passesMs, failsMs: passesMs > failsMs ? failsMs : undefined }
}

/** The time at which a probe has succeeded as often as it has to, if it does from some time on. */
function passedMs(
  { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1 }: NonNullable<Container['livenessProbe']>,
  sinceMs: number,
): number {
  const [delayMs, periodMs] = [initialDelaySeconds * 1000, periodSeconds * 1000]
  const waited = Math.ceil(Math.max(sinceMs - delayMs, 0) / periodMs)
  return delayMs + (waited + successThreshold - 1) * periodMs
}

/** The file that a probe reads. */
function fileOf(probe: Container['livenessProbe']): string | undefined {
  const words = probe?.exec?.command ?? []
  const text = /^(?:.*\/)?(?:ba|a|da)?sh$/.test(words[0] ?? '') && words[1] === '-c' && words.length === 3 ? words[2]! : words.join(' ')
  return /^(?:\S*\/)?(?:cat|stat|ls|test -[efrs]|\[ -[efrs]) (\/\S+)(?: \])?$/.exec(text)?.[1]
}

/** The time from which the file of a probe exists; undefined when that is unknown. */
function fileSinceMs(probe: Container['livenessProbe'], { volumeMounts }: Container, understood: Understood): number | undefined {
  const file = fileOf(probe)
  if (file === undefined) return undefined
  const written = understood.writtenMs?.get(file)
  if (written !== undefined) return written
  // Images leave this directory empty. The effects of loops and the contents of volumes are unknown.
  const isEmpty = file.startsWith('/tmp/') && understood.ports !== undefined && !understood.left?.has(file)
  return isEmpty && !volumeMounts?.some(({ mountPath }) => file.startsWith(mountPath)) ? NEVER : undefined
}

/** Whether a probe uses a port on which the container is known not to listen. */
function isRefused(
  { httpGet, tcpSocket, grpc }: NonNullable<Container['livenessProbe']>,
  { ports }: Container,
  understood: Understood | undefined,
): boolean {
  const target = httpGet ?? tcpSocket ?? grpc
  if (!target || !understood?.ports || httpGet?.host || tcpSocket?.host) return false
  const port = ports?.find(({ name }) => name !== undefined && name === String(target.port))?.containerPort ?? Number(target.port)
  return !understood.ports.includes(port)
}

/** The health endpoint of `agnhost`, and redirects to it. */
const HEALTH_PATHS = new Set(['/healthz', '/redirect?loc=/healthz', '/redirect?loc=%2Fhealthz'])

/** Time after the start at which an unhealthy container reaches the failure threshold of its liveness probe; undefined while healthy. */
function unhealthyAfterMs(probe: Container['livenessProbe'], { removedMs, unhealthyMs }: Understood): number | undefined {
  const file = fileOf(probe)
  const asksForHealth = probe?.grpc || HEALTH_PATHS.has(probe?.httpGet?.path ?? '')
  const from = file !== undefined ? removedMs?.get(file) : asksForHealth ? unhealthyMs : undefined
  if (!probe || from === undefined) return undefined
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3 } = probe
  return Math.max(from, initialDelaySeconds * 1000) + (failureThreshold - 1) * periodSeconds * 1000
}

/** Problems with script annotations of a pod, a sentence each, up to a limit. */
export function* scriptProblems(annotations: Annotations, containers: ReadonlySet<string>): Iterable<string> {
  if (!annotations) return
  let count = 0
  for (const key of Object.keys(annotations)) {
    if (!key.includes(SCRIPT_DOMAIN)) continue
    const [, container, name = ''] = SCRIPT_KEY.exec(key) ?? []
    const problem = name === '' ? undefined : problemOf(key, annotations[key]!, { container, name, containers })
    if (problem === undefined) continue
    if (++count > MAX_PROBLEMS) return
    yield problem
  }
}
/** Further problems would tell nothing new, and each is an event. */
const MAX_PROBLEMS = 8

type Setting = { readonly container: string | undefined; readonly name: string; readonly containers: ReadonlySet<string> }

function problemOf(key: string, value: string, { container, name, containers }: Setting): string | undefined {
  const read = SETTINGS.get(name)
  if (!read) return `there is no annotation ${key}; ${SCRIPT_DOMAIN} has ${[...SETTINGS.keys()].join(', ')}`
  if (container !== undefined && !containers.has(container)) return `${key}: the pod has no container ${container}`
  return read(value) ? undefined : `${key}: "${value.slice(0, MAX_VALUE_LENGTH)}" makes no sense and is ignored`
}
const SCRIPT_KEY = /^(?:(.+)\.)?sim\.keelson\.dev\/(.+)$/

/** The exit code of a run; the first is number 0. */
export const exitCodeOf = ({ exitCodes }: Script, run: number): number => exitCodes[Math.min(run, exitCodes.length - 1)] ?? 0

function durationMs(text: string): number | undefined {
  try {
    return Number(parseDuration(text)) / 1e6
  } catch (error) {
    if (error instanceof DurationError) return undefined
    throw error
  }
}
