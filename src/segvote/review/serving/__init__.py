"""The web server of the review page: routes, guard, connections and the browser that is opened."""
