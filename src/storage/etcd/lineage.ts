/**
 * Notices that etcd has gone back: that it was restored from a backup, emptied, or replaced by another cluster.
 *
 * Every request of the store is linearizable: whichever member answers it has first applied all that was committed before, so that its
 * revision and term are not below those of any answer that had come before the request was sent. A member that lags behind makes such a
 * request wait, and does not answer with an earlier revision. So an answer below the revision that was known when the request was sent is one of
 * another history. Headers of watches tell where one member is, which may be behind, and are not looked at; their events are committed.
 */

/** Where a cluster is, as the headers of its answers say. */
export type Header = { readonly cluster: number; readonly term: number; readonly revision: number }

/** The state that was known when a request was sent. */
export type Mark = Header & { readonly generation: number }

const NOTHING: Header = { cluster: 0, term: 0, revision: 0 }

export class Lineage {
  #newest: Header = NOTHING
  #generation = 0

  /** Counts how often the cluster has gone back. */
  get generation(): number {
    return this.#generation
  }

  /** To be taken before a request is sent. */
  mark(): Mark {
    return { ...this.#newest, generation: this.#generation }
  }

  /** Why an answer tells that the cluster has gone back, if it is the first that does. */
  answered(mark: Mark, header: Header): string | undefined {
    if (mark.generation !== this.#generation) return undefined
    const why = difference(mark, header)
    if (why === undefined) {
      this.#newest = {
        cluster: header.cluster,
        term: Math.max(this.#newest.term, header.term),
        revision: Math.max(this.#newest.revision, header.revision),
      }
      return undefined
    }
    this.#generation++
    this.#newest = header
    return why
  }

  /** An event of a watch has arrived. */
  saw(revision: number): void {
    if (revision > this.#newest.revision) this.#newest = { ...this.#newest, revision }
  }

  /** Whether a request was sent before the cluster went back: what it says may be of either history. */
  isPast({ generation }: Mark): boolean {
    return generation !== this.#generation
  }
}

function difference(before: Header, { cluster, term, revision }: Header): string | undefined {
  if (before.cluster !== 0 && cluster !== before.cluster) return `it is cluster ${hex(cluster)} now, and was ${hex(before.cluster)}`
  if (revision < before.revision) return `its revision is ${revision}, and was ${before.revision}`
  return term < before.term ? `its raft term is ${term}, and was ${before.term}` : undefined
}

const hex = (id: number) => id.toString(16)
