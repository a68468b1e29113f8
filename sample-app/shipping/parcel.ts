/** What the queue carries: plain data, as it goes through Redis as JSON. */
export interface Parcel {
  /** Given once, with the order: a parcel that comes twice is known by it. */
  readonly id: string;
  readonly customer: string;
  readonly productId: string;
  readonly quantity: number;
}

/** The queue's name. */
export const PARCELS = 'parcels';
