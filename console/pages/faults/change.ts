/** One request that changes the state of a server for tests, with a message about its outcome. */
import { send } from '../../core/api.ts'
import { toast, toastError } from '../../core/toasts.ts'

export async function change(done: string, path: string, method: string, body?: unknown): Promise<boolean> {
  try {
    await send(path, { method, ...(body === undefined ? {} : { body }) })
    toast(done)
    return true
  } catch (error) {
    toastError('Not done', error)
    return false
  }
}
