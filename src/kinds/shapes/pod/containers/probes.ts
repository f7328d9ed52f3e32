/** How containers are asked about their health, and what is run around their life. */
import { atomic, inlined, int32, int64, intOrString, message, type Static, string } from '../../../../schema/types.ts'

export const ExecAction = message('ExecAction', {
  command: [1, atomic(string), 'The command and its arguments; no shell is involved.'],
})
export type ExecAction = Static<typeof ExecAction>

export const GRPCAction = message('GRPCAction', {
  port: [1, int32.always(), 'Port of the service.'],
  service: [2, string.optional().toldDefault(''), 'Name of the service to ask about.'],
  mode: [3, string.optional(), 'How to connect: Plaintext, or TLS without verification.'],
})
export type GRPCAction = Static<typeof GRPCAction>

export const HTTPHeader = message('HTTPHeader', {
  name: [1, string.always(), 'Name of the header.'],
  value: [2, string.always(), 'Its value.'],
})
export type HTTPHeader = Static<typeof HTTPHeader>

export const HTTPGetAction = message('HTTPGetAction', {
  path: [1, string.default('/'), 'Path to ask for.'],
  port: [2, intOrString.always(), 'Port, by number or by name.'],
  host: [3, string, 'Host to connect to; the address of the pod when empty.'],
  scheme: [4, string.default('HTTP'), 'HTTP or HTTPS.'],
  httpHeaders: [5, atomic(HTTPHeader), 'Headers of the request.'],
  protocol: [6, string.optional(), 'Wire protocol of the connection; HTTP/1.1 when absent.'],
})
export type HTTPGetAction = Static<typeof HTTPGetAction>

export const TCPSocketAction = message('TCPSocketAction', {
  port: [1, intOrString.always(), 'Port, by number or by name.'],
  host: [2, string, 'Host to connect to; the address of the pod when empty.'],
})
export type TCPSocketAction = Static<typeof TCPSocketAction>

const probeHandlers = {
  exec: [1, ExecAction, 'Runs a command in the container; exit code 0 is a success.'],
  httpGet: [2, HTTPGetAction, 'Makes an HTTP request.'],
  tcpSocket: [3, TCPSocketAction, 'Opens a TCP connection.'],
  grpc: [4, GRPCAction, 'Asks a gRPC health service.'],
} as const

export const Probe = message('Probe', {
  ...inlined(1, probeHandlers),
  initialDelaySeconds: [2, int32, 'Seconds from the start of the container to the first check.'],
  timeoutSeconds: [3, int32.default(1), 'Seconds an answer may take.'],
  periodSeconds: [4, int32.default(10), 'Seconds between checks.'],
  successThreshold: [5, int32.default(1), 'Successes in a row after a failure that count as passed.'],
  failureThreshold: [6, int32.default(3), 'Failures in a row that count as failed.'],
  terminationGracePeriodSeconds: [7, int64.optional(), 'Seconds of grace when the probe fails, in place of those of the pod.'],
})
export type Probe = Static<typeof Probe>

export const SleepAction = message('SleepAction', {
  seconds: [1, int64.always(), 'How long to wait.'],
})
export type SleepAction = Static<typeof SleepAction>

export const LifecycleHandler = message('LifecycleHandler', {
  exec: [1, ExecAction, 'Runs a command in the container.'],
  httpGet: [2, HTTPGetAction, 'Makes an HTTP request.'],
  tcpSocket: [3, TCPSocketAction, 'Has no effect; kept for old objects.'],
  sleep: [4, SleepAction, 'Waits.'],
})
export type LifecycleHandler = Static<typeof LifecycleHandler>

export const Lifecycle = message('Lifecycle', {
  postStart: [1, LifecycleHandler, 'Run right after the container starts.'],
  preStop: [2, LifecycleHandler, 'Run before the container is stopped.'],
  stopSignal: [3, string.optional(), 'The signal that stops the container.'],
})
export type Lifecycle = Static<typeof Lifecycle>
