/**
 * Notifies systemd that the server is ready or stopping, for units of `Type=notify`. Node has no Unix datagram sockets, so systemd's own
 * program sends the message.
 */
import { spawn } from 'node:child_process'

/** Does nothing unless systemd requested it. If a message cannot be sent, a warning is printed and the server continues. */
export function notifyServiceManager(state: 'ready' | 'stopping'): void {
  const { NOTIFY_SOCKET: socket, PATH } = process.env
  if (socket === undefined || socket === '') return
  const failed = (why: string) => process.stderr.write(`keelson: could not notify systemd that the server is ${state}: ${why}\n`)
  const env = { NOTIFY_SOCKET: socket, ...(PATH !== undefined && { PATH }) }
  const sender = spawn('systemd-notify', ['--no-block', `${state.toUpperCase()}=1`, `MAINPID=${process.pid}`], { stdio: 'ignore', env })
  sender.once('error', error => failed(error.message))
  sender.once('exit', code => code !== 0 && failed(`systemd-notify exited with ${code}`))
}
