/** How containers are asked about their health, and what is run around their life. */
import { atomic, inlined, int32, int64, intOrString, message, type Static, string } from '../../../schema/types.ts'

export const ExecAction = message('ExecAction', {
  command: [1, atomic(string), ''],
})
export type ExecAction = Static<typeof ExecAction>

export const GRPCAction = message('GRPCAction', {
  port: [1, int32.always(), ''],
  service: [2, string.optional().default(''), ''],
  mode: [3, string.optional(), ''],
})
export type GRPCAction = Static<typeof GRPCAction>

export const HTTPHeader = message('HTTPHeader', {
  name: [1, string.always(), ''],
  value: [2, string.always(), ''],
})
export type HTTPHeader = Static<typeof HTTPHeader>

export const HTTPGetAction = message('HTTPGetAction', {
  path: [1, string.default('/'), ''],
  port: [2, intOrString.always(), ''],
  host: [3, string, ''],
  scheme: [4, string.default('HTTP'), ''],
  httpHeaders: [5, atomic(HTTPHeader), ''],
  protocol: [6, string.optional(), ''],
})
export type HTTPGetAction = Static<typeof HTTPGetAction>

export const TCPSocketAction = message('TCPSocketAction', {
  port: [1, intOrString.always(), ''],
  host: [2, string, ''],
})
export type TCPSocketAction = Static<typeof TCPSocketAction>

const probeHandlers = {
  exec: [1, ExecAction, ''],
  httpGet: [2, HTTPGetAction, ''],
  tcpSocket: [3, TCPSocketAction, ''],
  grpc: [4, GRPCAction, ''],
} as const

export const Probe = message('Probe', {
  ...inlined(1, probeHandlers),
  initialDelaySeconds: [2, int32, ''],
  timeoutSeconds: [3, int32.default(1), ''],
  periodSeconds: [4, int32.default(10), ''],
  successThreshold: [5, int32.default(1), ''],
  failureThreshold: [6, int32.default(3), ''],
  terminationGracePeriodSeconds: [7, int64.optional(), ''],
})
export type Probe = Static<typeof Probe>

export const SleepAction = message('SleepAction', {
  seconds: [1, int64.always(), ''],
})
export type SleepAction = Static<typeof SleepAction>

export const LifecycleHandler = message('LifecycleHandler', {
  exec: [1, ExecAction, ''],
  httpGet: [2, HTTPGetAction, ''],
  tcpSocket: [3, TCPSocketAction, ''],
  sleep: [4, SleepAction, ''],
})
export type LifecycleHandler = Static<typeof LifecycleHandler>

export const Lifecycle = message('Lifecycle', {
  postStart: [1, LifecycleHandler, ''],
  preStop: [2, LifecycleHandler, ''],
  stopSignal: [3, string.optional(), ''],
})
export type Lifecycle = Static<typeof Lifecycle>
