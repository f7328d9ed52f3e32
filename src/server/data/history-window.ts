/** How far back history reaches where `--history-window` does not say it. */
import type { Config } from '../config.ts'

/**
 * People look at a change some ten or twenty minutes later, so the stores of this server keep half an hour; number and bytes of the
 * revisions are bounded as well. An etcd is often shared with kube-apiservers, which keep five to ten minutes.
 */
const KEPT_MS = 1_800_000
/** The token of a list is to expire after five minutes and before ten: clients that wait for that wait no longer. */
const PAGES_MS = 480_000

/** How long a revision can be read and watched from. */
export const historyAge = ({ historyMs, store }: Config): number => historyMs ?? (store === 'etcd' ? PAGES_MS : KEPT_MS)

/** How long the pages of a list can be continued. */
export const pageAge = ({ historyMs }: Config): number => historyMs ?? PAGES_MS
