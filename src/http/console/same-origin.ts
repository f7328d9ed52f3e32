/** Checks that a request comes from the console's own page: the right host, the header that only scripts can send, and no other origin. */
import { forbiddenPath } from '../../schema/status-error.ts'
import { header, type Request } from '../message.ts'

/** No form and no link can send it, and a page of another origin only after a preflight request, which nobody allows. */
const MARK = 'keelson-console'

/** The host that a request names, with its port. */
export const hostOf = ({ headers }: Pick<Request, 'headers'>): string => header(headers, ':authority') ?? header(headers, 'host') ?? ''

/** Throws unless the console's page has sent the request. */
export function checkSamePage(request: Request): void {
  const { headers, method, upgrade } = request
  if (upgrade !== undefined) throw forbiddenPath('forbidden: sessions of the console open no other protocol')
  if (header(headers, MARK) !== '1') throw forbiddenPath('forbidden: requests of the console have the header Keelson-Console: 1')
  const site = header(headers, 'sec-fetch-site')
  const origin = header(headers, 'origin')
  const isOwn = origin === `https://${hostOf(request)}`.toLowerCase()
  const isForeign = (site !== undefined && site !== 'same-origin') || (origin !== undefined && !isOwn)
  // Browsers say where a request comes from: always in Origin, if its method changes something.
  const isUnknown = method !== 'GET' && method !== 'HEAD' && origin === undefined
  if (isForeign || isUnknown) throw forbiddenPath("forbidden: the request does not come from the console's own page")
}
