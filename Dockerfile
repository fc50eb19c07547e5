FROM python:3.11-slim
WORKDIR /app
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY bot bot
COPY engine engine
COPY db db
COPY examples examples
RUN python -m pip install --no-cache-dir --constraint constraints.txt '.[glossary,pictures]' \
    && useradd --create-home --home-dir /data presagio
USER presagio
ENV PRESAGIO_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["presagio"]
CMD ["serve"]
