const CALLS = 1_000;

/** Returns a call whose message has about 350 bytes when it is sent. */
function callOf(n) {
  return {
    userId: `user-${n}`,
    event: 'Order Completed',
    properties: {
      orderId: `order-${n}`,
      revenue: 39.95,
      currency: 'EUR',
      products: ['mug', 'tent'],
      shipping: 'overnight',
    },
  };
}

/** Makes calls in advance, so that making them is not measured. The result gives a call for each number. */
export function makeCalls(shape = (call) => call) {
  const calls = Array.from({ length: CALLS }, (_, n) => shape(callOf(n)));
  return (n) => calls[n % CALLS];
}
