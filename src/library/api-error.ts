/** A response of the API with an error. */
import type { ApiStatus } from '../public.d.ts'

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly reason: string
  readonly body: ApiStatus | undefined

  constructor(request: string, status: number, text: string) {
    const body = statusIn(text)
    super(`${request}: ${body?.message ?? (text.slice(0, MAX_SHOWN) || `status ${status}`)}`)
    this.status = status
    this.reason = body?.reason ?? ''
    this.body = body
  }
}

/** The length of a response that is not a Status, in a message. */
const MAX_SHOWN = 500

/** The Status in a response; proxies and aggregated servers may send other texts. */
function statusIn(text: string): ApiStatus | undefined {
  try {
    const value: Partial<ApiStatus> | null = JSON.parse(text)
    return value?.kind === 'Status' && typeof value.message === 'string' ? (value as ApiStatus) : undefined
  } catch {
    return undefined
  }
}
