/** Probes and lifecycle hooks of containers. */

import { isHTTPHeaderName } from '../../../../lib/names.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../../../schema/refs.ts'
import { atomic, inlined, int32, int64, intOrString, message, type Static, string } from '../../../../schema/types.ts'
import { validateNonNegative } from '../../text-rules.ts'
import { validatePortNumOrName } from './ports.ts'

const ExecAction = message('ExecAction', {
  command: [1, atomic(string), 'The command and its arguments; no shell is involved.'],
})

const GRPCAction = message('GRPCAction', {
  port: [1, int32.always(), 'Port of the service.'],
  service: [2, string.optional().publishedDefault(''), 'Name of the service to check.'],
  mode: [3, string.listed('Plaintext', 'TLS').optional(), 'How to connect: Plaintext, or TLS without verification.'],
})
type GRPCAction = Static<typeof GRPCAction>

const HTTPHeader = message('HTTPHeader', {
  name: [1, string.always(), 'Name of the header.'],
  value: [2, string.always(), 'Its value.'],
})

export const HTTPGetAction = message('HTTPGetAction', {
  path: [1, string.default('/'), 'Path to request.'],
  port: [2, intOrString.always(), 'Port, by number or by name.'],
  host: [3, string, 'Host to connect to; the address of the pod when empty.'],
  scheme: [4, string.listed('HTTP', 'HTTPS').default('HTTP'), 'HTTP or HTTPS.'],
  httpHeaders: [5, atomic(HTTPHeader), 'Headers of the request.'],
  protocol: [6, string.listed('HTTP1', 'HTTP2').optional(), 'Wire protocol of the connection; HTTP/1.1 when absent.'],
})
export type HTTPGetAction = Static<typeof HTTPGetAction>

const TCPSocketAction = message('TCPSocketAction', {
  port: [1, intOrString.always(), 'Port, by number or by name.'],
  host: [2, string, 'Host to connect to; the address of the pod when empty.'],
})

const probeHandlers = {
  exec: [1, ExecAction, 'Runs a command in the container; exit code 0 is a success.'],
  httpGet: [2, HTTPGetAction, 'Makes an HTTP request.'],
  tcpSocket: [3, TCPSocketAction, 'Opens a TCP connection.'],
  grpc: [4, GRPCAction, 'Calls a gRPC health service.'],
} as const

export const Probe = message('Probe', {
  ...inlined(1, probeHandlers),
  initialDelaySeconds: [2, int32, 'Seconds from the start of the container to the first check.'],
  timeoutSeconds: [3, int32.default(1), 'Seconds an answer may take.'],
  periodSeconds: [4, int32.default(10), 'Seconds between checks.'],
  successThreshold: [5, int32.default(1), 'Successes in a row after a failure that count as passed.'],
  failureThreshold: [6, int32.default(3), 'Failures in a row that count as failed.'],
  terminationGracePeriodSeconds: [7, int64.optional(), 'Seconds of grace when the probe fails, overrides that of the pod.'],
})
export type Probe = Static<typeof Probe>

const SleepAction = message('SleepAction', {
  seconds: [1, int64.always(), 'How long to wait.'],
})

const LifecycleHandler = message('LifecycleHandler', {
  exec: [1, ExecAction, 'Runs a command in the container.'],
  httpGet: [2, HTTPGetAction, 'Makes an HTTP request.'],
  tcpSocket: [3, TCPSocketAction, 'Has no effect; kept for old objects.'],
  sleep: [4, SleepAction, 'Waits.'],
})
export type LifecycleHandler = Static<typeof LifecycleHandler>

const WINDOWS_SIGNALS = ['SIGKILL', 'SIGTERM']
/** All stop signals of Linux, which include those of other systems. */
export const STOP_SIGNALS = [
  ...['ABRT', 'ALRM', 'BUS', 'CHLD', 'CLD', 'CONT', 'FPE', 'HUP', 'ILL', 'INT', 'IO', 'IOT', 'KILL', 'PIPE', 'POLL', 'PROF', 'PWR', 'QUIT'],
  ...['RTMAX', 'RTMIN', 'SEGV', 'STKFLT', 'STOP', 'SYS', 'TERM', 'TRAP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'USR1', 'USR2', 'VTALRM'],
  ...['WINCH', 'XCPU', 'XFSZ'],
  ...Array.from({ length: 14 }, (_, i) => `RTMAX-${i + 1}`),
  ...Array.from({ length: 15 }, (_, i) => `RTMIN+${i + 1}`),
]
  .map(name => `SIG${name}`)
  .sort()

export const Lifecycle = message('Lifecycle', {
  postStart: [1, LifecycleHandler, 'Run right after the container starts.'],
  preStop: [2, LifecycleHandler, 'Run before the container is stopped.'],
  stopSignal: [3, string.listed(...STOP_SIGNALS).optional(), 'The signal that stops the container.'],
})
export type Lifecycle = Static<typeof Lifecycle>

type Grace = number | bigint | undefined
type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'> & Pick<LifecycleHandler, 'sleep'>

/** Rules for the three probes of a container. */
export function* validateProbes(
  { livenessProbe, readinessProbe, startupProbe }: { livenessProbe?: Probe; readinessProbe?: Probe; startupProbe?: Probe },
  at: { readonly livenessProbe: Ref<Probe>; readonly readinessProbe: Ref<Probe>; readonly startupProbe: Ref<Probe> },
  grace: Grace,
): Iterable<FieldError> {
  if (livenessProbe) yield* validateOneSuccessProbe(livenessProbe, at.livenessProbe, grace)
  if (readinessProbe) {
    yield* validateProbe(readinessProbe, at.readinessProbe, grace)
    if (readinessProbe.terminationGracePeriodSeconds !== undefined)
      yield invalid(at.readinessProbe.terminationGracePeriodSeconds, 'must not be set for readinessProbes')
  }
  if (startupProbe) yield* validateOneSuccessProbe(startupProbe, at.startupProbe, grace)
}

function* validateOneSuccessProbe(probe: Probe, at: Ref<Probe>, grace: Grace): Iterable<FieldError> {
  yield* validateProbe(probe, at, grace)
  if (probe.successThreshold !== 1) yield invalid(withValue(at.successThreshold, probe.successThreshold ?? 0), 'must be 1')
}

function* validateProbe(probe: Probe, at: Ref<Probe>, grace: Grace): Iterable<FieldError> {
  yield* validateHandler(probe, withValue<Handler>(at, probe), grace)
  yield* validateNonNegative(probe.initialDelaySeconds, at.initialDelaySeconds)
  yield* validateNonNegative(probe.timeoutSeconds, at.timeoutSeconds)
  yield* validateNonNegative(probe.periodSeconds, at.periodSeconds)
  yield* validateNonNegative(probe.successThreshold, at.successThreshold)
  yield* validateNonNegative(probe.failureThreshold, at.failureThreshold)
  if (probe.terminationGracePeriodSeconds !== undefined && probe.terminationGracePeriodSeconds <= 0)
    yield invalid(at.terminationGracePeriodSeconds, 'must be greater than 0')
}

/** Exactly one valid handler. Further handlers are rejected without further checks. */
function* validateHandler(handler: Handler, at: Ref<Handler>, grace: Grace): Iterable<FieldError> {
  let handlers = 0
  const oneOfOnly = function* (set: unknown, itemAt: Ref<any>, rules: () => Iterable<FieldError>): Iterable<FieldError> {
    if (!set) return
    if (handlers++ > 0) yield forbidden(itemAt, 'may not specify more than 1 handler type')
    else yield* rules()
  }
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler
  yield* oneOfOnly(exec, at.exec, function* () {
    if (!exec?.command?.length) yield required(at.exec.command)
  })
  yield* oneOfOnly(httpGet, at.httpGet, () => validateHTTPGet(httpGet!, at.httpGet))
  yield* oneOfOnly(tcpSocket, at.tcpSocket, () => validatePortNumOrName(tcpSocket?.port, at.tcpSocket.port))
  yield* oneOfOnly(grpc, at.grpc, () => validateGRPC(grpc!, at.grpc))
  yield* oneOfOnly(sleep, at.sleep, function* () {
    const seconds = sleep?.seconds ?? 0
    // Without a grace period there is a worse error elsewhere already.
    if (grace !== undefined && (seconds < 0 || seconds > grace))
      yield invalid(withValue(at.sleep, seconds), `must be non-negative and less than terminationGracePeriodSeconds (${grace})`)
  })
  if (handlers === 0) yield required(at, 'must specify a handler type')
}

function* validateHTTPGet(action: HTTPGetAction, at: Ref<HTTPGetAction>): Iterable<FieldError> {
  const { path, port, scheme, httpHeaders, protocol, host } = action
  if (!path) yield required(at.path)
  yield* validatePortNumOrName(port, at.port)
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') yield unsupported(at.scheme, 'HTTP', 'HTTPS')
  for (const { name } of httpHeaders ?? []) yield* invalidEach(withValue(at.httpHeaders, name ?? ''), isHTTPHeaderName(name ?? ''))
  if (protocol === undefined || protocol === 'HTTP1') return
  if (protocol !== 'HTTP2') yield unsupported(at.protocol, 'HTTP1', 'HTTP2')
  else if (scheme !== 'HTTP') yield invalid(at.protocol, 'is only supported with HTTP (H2C)')
  else if (host) yield invalid(at.host, 'must be empty when `protocol` is "HTTP2"')
}

function* validateGRPC({ port, mode }: GRPCAction, at: Ref<GRPCAction>): Iterable<FieldError> {
  yield* validatePortNumOrName(port, at.port)
  if (mode !== undefined && mode !== 'Plaintext' && mode !== 'TLS') yield unsupported(at.mode, 'Plaintext', 'TLS')
}

/** The operating system that the pod names. */
type OperatingSystem = { readonly name: string }

/** The hooks after a container starts and before it stops, and the signal that stops it. */
export function* validateLifecycle(
  { postStart, preStop, stopSignal }: Lifecycle,
  at: Ref<Lifecycle>,
  { grace, os }: { readonly grace: Grace; readonly os: OperatingSystem | undefined },
): Iterable<FieldError> {
  if (postStart) yield* validateHandler(postStart, withValue<Handler>(at.postStart, postStart), grace)
  if (preStop) yield* validateHandler(preStop, withValue<Handler>(at.preStop, preStop), grace)
  if (stopSignal !== undefined) yield* validateStopSignal(stopSignal, at.stopSignal, os)
}

function* validateStopSignal(signal: string, at: Ref<string>, os: OperatingSystem | undefined): Iterable<FieldError> {
  if (!os) return yield forbidden(at, 'may not be set for containers with empty `spec.os.name`')
  const known = os.name === 'windows' ? WINDOWS_SIGNALS : os.name === 'linux' ? STOP_SIGNALS : undefined
  if (known && !known.includes(signal)) yield unsupported(at, ...known)
}
