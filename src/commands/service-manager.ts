/** Tells systemd that the server is ready or stops, for units of `Type=notify`. Node has no datagram sockets of files, so systemd's own program sends. */
import { spawn } from 'node:child_process'

/** Does nothing unless systemd asked for it. A message that cannot be sent is said on standard error, and the server goes on. */
export function notifyServiceManager(state: 'ready' | 'stopping'): void {
  const { NOTIFY_SOCKET: socket, PATH } = process.env
  if (socket === undefined || socket === '') return
  const failed = (why: string) => process.stderr.write(`keelson: systemd could not be told that the server is ${state}: ${why}\n`)
  const env = { NOTIFY_SOCKET: socket, ...(PATH !== undefined && { PATH }) }
  const sender = spawn('systemd-notify', ['--no-block', `${state.toUpperCase()}=1`, `MAINPID=${process.pid}`], { stdio: 'ignore', env })
  sender.once('error', error => failed(error.message))
  sender.once('exit', code => code !== 0 && failed(`systemd-notify exited with ${code}`))
}
